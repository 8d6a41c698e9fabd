#include "search/source_models.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/hash.h"
#include "surrogate/fit.h"
#include "surrogate/transform.h"

namespace detol::inline search {
namespace {

constexpr std::size_t kMostInFit = 150;       // trials of which a source's kernel is fitted
constexpr std::size_t kMostInProcess = 1500;  // trials that its process has
constexpr std::size_t kMostRanked = 64;       // trials by which sources are compared
constexpr int kResamples = 128;
constexpr std::size_t kFolds = 5;
constexpr std::size_t kLeastChecked = 40;  // trials
constexpr double kSignificant = 2.5;       // standard errors of a correlation
constexpr double kPriorSlope = 0.5;        // of outcomes over predictions, before any was told
constexpr double kPriorSquares = 4;        // its weight, as a sum of squared predictions

// Returns `most` places of the trials, which are sorted: half of them the best, the others drawn.
std::vector<std::size_t> best_and_others(std::size_t trials, std::size_t most, Rng rng) {
  std::vector<std::size_t> places(trials);
  std::iota(places.begin(), places.end(), std::size_t{0});
  if (trials <= most) return places;
  rng.shuffle(std::span(places).subspan(most / 2));
  places.resize(most);
  std::ranges::sort(places);
  return places;
}

bool is_of_architecture(const std::string& name) {
  return name.starts_with("architecture");
}

double correlation(std::span<const double> a, std::span<const double> b) {
  const double n = static_cast<double>(a.size());
  const double mean_a = std::accumulate(a.begin(), a.end(), 0.0) / n;
  const double mean_b = std::accumulate(b.begin(), b.end(), 0.0) / n;
  double both = 0, of_a = 0, of_b = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    both += (a[i] - mean_a) * (b[i] - mean_b);
    of_a += (a[i] - mean_a) * (a[i] - mean_a);
    of_b += (b[i] - mean_b) * (b[i] - mean_b);
  }
  return of_a > 0 && of_b > 0 ? both / std::sqrt(of_a * of_b) : 0;
}

// Returns the correlation of outcomes with their predictions from four fifths of the others; 0
// where that is within the error of no correlation, 1 for too few trials to tell.
double reliability_of(const Features& features, const KernelParameters& kernel,
                      const Points& points, std::span<const double> y) {
  if (y.size() < kLeastChecked) return 1;
  std::vector<double> predicted(y.size());
  for (std::size_t fold = 0; fold < kFolds; ++fold) {
    Points others = features.empty_points();
    std::vector<double> others_y;
    for (std::size_t i = 0; i < y.size(); ++i) {
      if (i % kFolds == fold) continue;
      others.push_back(points[i]);
      others_y.push_back(y[i]);
    }
    const LazyGp process(features, kernel, others, others_y);
    for (std::size_t i = fold; i < y.size(); i += kFolds)
      predicted[i] = process.predict(points[i]).mean;
  }
  const double r = correlation(y, predicted);
  return r < kSignificant / std::sqrt(static_cast<double>(y.size())) ? 0 : r;
}

double sign(double x) {
  return x > 0 ? 1 : x < 0 ? -1 : 0;
}

}  // namespace

SourceModels::SourceModels(const Space& space, std::span<const MappedSource> sources,
                           std::size_t objectives, std::uint64_t seed)
    : features_(space), sources_(sources.size()) {
  for (const Domain& domain : space.domains()) names_.push_back(domain.name);
  const Rng rng = Rng(seed).split(hash64("source models"));
  models_.resize(objectives);
  for (std::size_t i = 0; i < objectives; ++i) {
    for (std::size_t s = 0; s < sources.size(); ++s)
      models_[i].push_back(fitted(sources[s], i, rng.split(s)));
  }
}

SourceModels::Model SourceModels::fitted(const MappedSource& source, std::size_t objective,
                                         Rng rng) const {
  std::vector<double> losses;
  for (const SourceTrial& trial : source.trials) losses.push_back(trial.losses[objective]);
  const OutcomeTransform transform = OutcomeTransform::fitted(losses);
  Model model{.shared = source.shared,
              .graph = nullptr,
              .process = LazyGp(features_, default_parameters(features_))};
  const Point first = features_.of(source.trials.front().genome);
  for (std::size_t i = 0; i < names_.size(); ++i) {
    if (!source.shared[i] && is_of_architecture(names_[i])) model.graph = first.graph;
  }
  const auto points_and_losses = [&](std::size_t most) {
    std::pair<Points, std::vector<double>> some{features_.empty_points(), {}};
    for (std::size_t i : best_and_others(losses.size(), most, rng)) {
      some.first.push_back(seen_by(model, features_.of(source.trials[i].genome)));
      some.second.push_back(transform(losses[i]));
    }
    return some;
  };
  const auto [few, few_y] = points_and_losses(kMostInFit);
  const KernelParameters kernel =
      fit(features_, few, few_y, default_parameters(features_), {.max_evaluations = 40}).parameters;
  model.reliability = reliability_of(features_, kernel, few, few_y);
  const auto [points, y] = points_and_losses(kMostInProcess);
  model.process = LazyGp(features_, kernel, points, y);
  static_cast<void>(model.process.weights());  // computed now, so that threads only read
  return model;
}

Point SourceModels::seen_by(const Model& model, const Point& point) const {
  Point seen = features_.restricted(point, model.shared);
  if (model.graph != nullptr) seen.graph = model.graph;
  return seen;
}

std::vector<double> SourceModels::means(std::size_t objective, const Point& point) const {
  std::vector<double> means;
  std::vector<double> k;
  for (const Model& model : models_[objective]) {
    const LazyGp& process = model.process;
    k.resize(process.rows());
    process.kernel().row(seen_by(model, point), process.points(), k);
    const std::span<const double> weights = process.weights();
    means.push_back(process.mean() + model.reliability * std::inner_product(k.begin(), k.end(),
                                                                            weights.begin(), 0.0));
  }
  return means;
}

std::vector<double> SourceModels::gradient(std::size_t objective, const Point& point,
                                           std::span<const double> weights) const {
  std::vector<double> sum(features_.number_columns(), 0);
  for (std::size_t s = 0; s < sources_; ++s) {
    if (weights[s] == 0) continue;
    const Model& model = models_[objective][s];
    const std::vector<double> gradient = model.process.kernel().gradient(
        seen_by(model, point), model.process.points(), model.process.weights());
    for (std::size_t i = 0; i < sum.size(); ++i)
      sum[i] += weights[s] * model.reliability * gradient[i];
  }
  return sum;
}

std::vector<double> source_weights(std::span<const double> y, std::span<const double> means,
                                   std::size_t sources, Rng rng) {
  std::vector<std::size_t> compared(y.size());
  std::iota(compared.begin(), compared.end(), std::size_t{0});
  rng.shuffle(std::span(compared));
  compared.resize(std::min(compared.size(), kMostRanked));
  // Each resample of the trials votes for the source that ranks its pairs best, if that is better
  // than chance: above one standard deviation of Kendall's statistic of independent ranks.
  std::vector<double> votes(sources, 0);
  const double pairs = static_cast<double>(compared.size() * (compared.size() - 1));
  const double chance = std::sqrt(pairs * (2 * static_cast<double>(compared.size()) + 5) / 18);
  for (int r = 0; r < kResamples; ++r) {
    std::vector<std::size_t> drawn;
    for (std::size_t i = 0; i < compared.size(); ++i)
      drawn.push_back(compared[rng.below(compared.size())]);
    std::vector<double> agreement(sources, 0);
    for (std::size_t a = 0; a < drawn.size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        const double order = sign(y[drawn[a]] - y[drawn[b]]);
        if (order == 0) continue;
        for (std::size_t s = 0; s < sources; ++s)
          agreement[s] +=
              order * sign(means[drawn[a] * sources + s] - means[drawn[b] * sources + s]);
      }
    }
    const auto best = std::ranges::max_element(agreement);
    if (*best > chance)
      votes[static_cast<std::size_t>(best - agreement.begin())] += 1.0 / kResamples;
  }
  // The votes' sum is scaled by the slope of the outcomes over it, shrunk to kPriorSlope.
  const double trust = std::accumulate(votes.begin(), votes.end(), 0.0);
  if (trust == 0) return votes;
  std::vector<double> sum(y.size(), 0);
  for (std::size_t i = 0; i < y.size(); ++i) {
    for (std::size_t s = 0; s < sources; ++s) sum[i] += votes[s] / trust * means[i * sources + s];
  }
  const double n = static_cast<double>(y.size());
  const double mean_y = std::accumulate(y.begin(), y.end(), 0.0) / n;
  const double mean = std::accumulate(sum.begin(), sum.end(), 0.0) / n;
  double with_y = kPriorSlope * kPriorSquares, squares = kPriorSquares;
  for (std::size_t i = 0; i < y.size(); ++i) {
    with_y += (sum[i] - mean) * (y[i] - mean_y);
    squares += (sum[i] - mean) * (sum[i] - mean);
  }
  const double slope = std::max(0.0, with_y / squares);
  for (double& vote : votes) vote *= slope;
  return votes;
}

}  // namespace detol::inline search
