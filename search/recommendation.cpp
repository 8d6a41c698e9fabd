// Ranks trials by the posterior mean of a Gaussian process. Example: among losses 0.30, 0.31, 0.29
// of like trials a 0.20 of another of them is mostly luck: 0.28 is expected of it, and a trial of
// 0.24 whose neighbours are all near 0.25 is ranked before it.
//
//   y = transform(loss);   K = k(X, X) + noise I, fitted to y
//   mean_i = y_i - noise (K^-1 (y - m))_i     the posterior at the trial's own point, without noise
//   value  = transform^-1(mean)
//
// Price: a fit, some 30 evaluations of O(n^3), and O(n^2) for each trial's deviation.
#include "search/recommendation.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>

#include "core/hash.h"
#include "core/rng.h"
#include "surrogate/fit.h"
#include "surrogate/lazy_gp.h"
#include "surrogate/transform.h"

namespace detol::inline search {
namespace {

constexpr std::size_t kShortlist = 20;  // one of so many trials is on the shortlist
constexpr std::size_t kLeastListed = 5;

// Returns all places, or `most`: the best third of so many, the others drawn.
std::vector<std::size_t> chosen(std::span<const double> losses, std::size_t most) {
  std::vector<std::size_t> places(losses.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  if (places.size() <= most) return places;
  std::ranges::stable_sort(places, {}, [&](std::size_t i) { return losses[i]; });
  Rng(hash64("recommendation")).shuffle(std::span(places).subspan(most / 3));
  places.resize(most);
  std::ranges::sort(places);
  return places;
}

LazyGp process_of(const Features& features, const Points& points, std::span<const double> y) {
  return {features, fit(features, points, y, default_parameters(features)).parameters, points, y};
}

// Returns the worst loss of the shortlist.
double last_listed(std::span<const MeasuredTrial> trials, std::span<const double> losses) {
  std::vector<double> sorted;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    if (trials[i].keeps_constraints) sorted.push_back(losses[i]);
  }
  std::ranges::sort(sorted);
  const std::size_t count = std::max(sorted.size() / kShortlist, kLeastListed);
  if (count > sorted.size()) return std::numeric_limits<double>::infinity();
  return sorted[count - 1];
}

}  // namespace

std::vector<Recommended> recommend(const Space& space, Direction direction,
                                   std::span<const MeasuredTrial> trials, std::size_t most) {
  assert(trials.size() >= kLeastTrialsToRecommend);
  std::vector<double> losses;
  for (const MeasuredTrial& trial : trials) losses.push_back(to_loss(direction, trial.value));
  const Features features(space);
  const OutcomeTransform transform = OutcomeTransform::fitted(losses);
  std::vector<std::size_t> places = chosen(losses, most);
  Points points = features.empty_points();
  std::vector<double> y;
  for (std::size_t i : places) {
    points.push_back(features.of(trials[i].genome));
    y.push_back(transform(losses[i]));
  }
  const std::vector<Prediction> predictions = process_of(features, points, y).predict(points);
  const double last = last_listed(trials, losses);
  std::vector<std::size_t> order(places.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) {
    const MeasuredTrial& trial = trials[places[i]];
    const double loss = losses[places[i]];
    const bool is_listed = trial.keeps_constraints && loss <= last;
    return std::tuple(!is_listed, predictions[i].mean, loss, trial.id);
  });
  std::vector<Recommended> ranking;
  for (std::size_t i : order) {
    const double mean = predictions[i].mean, deviation = std::sqrt(predictions[i].variance);
    ranking.push_back(
        {.id = trials[places[i]].id,
         .mean = to_loss(direction, transform.inverse(mean)),
         .deviation =
             (transform.inverse(mean + deviation) - transform.inverse(mean - deviation)) / 2});
  }
  return ranking;
}

}  // namespace detol::inline search
