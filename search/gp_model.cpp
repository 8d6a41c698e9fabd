#include "search/gp_model.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>

#include "surrogate/fit.h"

namespace detol {
namespace {

constexpr std::size_t kMostFitted = 1500;  // observations that a fit looks at

std::vector<double> transformed(const OutcomeTransform& transform, std::span<const double> raw) {
  std::vector<double> y;
  for (double outcome : raw) y.push_back(transform(outcome));
  return y;
}

// All of them, or the best third of what is affordable and others drawn at random.
std::vector<std::size_t> chosen_for_fit(std::span<const double> outcomes, Rng rng) {
  std::vector<std::size_t> order(outcomes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (order.size() <= kMostFitted) return order;
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return outcomes[i]; });
  rng.shuffle(std::span(order).subspan(kMostFitted / 3));
  order.resize(kMostFitted);
  std::ranges::sort(order);
  return order;
}

OutputFit refit_output(const Features& features, const Points& points,
                       std::span<const double> outcomes, const OutputFit& before, Rng rng) {
  OutputFit after{.kernel = {}, .transform = OutcomeTransform::fitted(outcomes)};
  Points chosen = features.none();
  std::vector<double> y;
  for (std::size_t i : chosen_for_fit(outcomes, rng)) {
    chosen.push_back(points[i]);
    y.push_back(after.transform(outcomes[i]));
  }
  after.kernel = fit(features, chosen, y, before.kernel).parameters;
  return after;
}

}  // namespace

std::vector<OutputFit> refit(const Features& features, const Observed& observed,
                             std::span<const OutputFit> before, Rng rng) {
  std::vector<OutputFit> fits;
  for (std::size_t i = 0; i < before.size(); ++i)
    fits.push_back(
        refit_output(features, observed.points, observed.outcomes[i], before[i], rng.split(i)));
  return fits;
}

std::vector<LazyGp> processes_of(const Features& features, const Observed& observed,
                                 std::size_t observations, std::span<const OutputFit> fits,
                                 const Points& candidates) {
  Points points = observed.points;
  points.truncate(observations);
  std::vector<LazyGp> processes;
  for (std::size_t i = 0; i < fits.size(); ++i) {
    const auto outcomes = std::span(observed.outcomes[i]).first(observations);
    processes.emplace_back(features, fits[i].kernel, points,
                           transformed(fits[i].transform, outcomes));
    processes.back().attach(candidates);
  }
  return processes;
}

std::vector<double> to_numbers(std::span<const OutputFit> fits) {
  std::vector<double> numbers;
  for (const OutputFit& fit : fits) {
    for (double number : fit.transform.to_numbers()) numbers.push_back(number);
    for (double number : to_numbers(fit.kernel)) numbers.push_back(number);
  }
  return numbers;
}

std::vector<OutputFit> fits_from(std::span<const double> numbers, const Features& features) {
  const std::size_t of_kernel = to_numbers(default_parameters(features)).size();
  std::vector<OutputFit> fits;
  for (std::size_t at = 0; at < numbers.size(); at += OutcomeTransform::kNumbers + of_kernel) {
    fits.push_back({.kernel = from_numbers(
                        numbers.subspan(at + OutcomeTransform::kNumbers, of_kernel), features),
                    .transform = OutcomeTransform::from_numbers(
                        numbers.subspan(at, OutcomeTransform::kNumbers))});
  }
  return fits;
}

GpModel::GpModel(std::shared_ptr<const Features> features, std::size_t outputs, Points candidates)
    : features_(std::move(features)),
      candidates_(std::move(candidates)),
      observed_{features_->none(), {}} {
  observed_.outcomes.resize(outputs);
  fits_.assign(outputs, {.kernel = default_parameters(*features_), .transform = {}});
  processes_ = processes_of(*features_, observed_, 0, fits_, candidates_);
}

void GpModel::append(const Point& x, std::span<const double> outcomes) {
  drop_beliefs();
  observed_.points.push_back(x);
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    observed_.outcomes[i].push_back(outcomes[i]);
    processes_[i].append(x, fits_[i].transform(outcomes[i]));
  }
}

void GpModel::correct(std::size_t observation, std::span<const double> outcomes) {
  drop_beliefs();
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    observed_.outcomes[i][observation] = outcomes[i];
    processes_[i].replace(observation, fits_[i].transform(outcomes[i]));
  }
}

void GpModel::use(std::vector<OutputFit> fits, std::size_t observations,
                  std::vector<LazyGp> processes) {
  assert(fits.size() == fits_.size() && observations <= size());
  fits_ = std::move(fits);
  fitted_at_ = observations;
  processes_ = processes.empty()
                   ? processes_of(*features_, observed_, observations, fits_, candidates_)
                   : std::move(processes);
  for (std::size_t i = 0; i < fits_.size(); ++i) {
    const std::vector<double> y = transformed(fits_[i].transform, observed_.outcomes[i]);
    processes_[i].replace_all(std::span(y).first(observations));
    for (std::size_t j = observations; j < size(); ++j)
      processes_[i].append(observed_.points[j], y[j]);
  }
}

void GpModel::believe(std::span<const Point> pending) {
  drop_beliefs();
  for (LazyGp& process : processes_) {
    for (const Point& x : pending) process.append(x, process.predict(x).mean);
  }
}

double GpModel::surprise() {
  drop_beliefs();
  double sum = 0, count = 0;
  for (const LazyGp& process : processes_) {
    for (double innovation : process.innovations(fitted_at_)) {
      sum += innovation * innovation;
      ++count;
    }
  }
  return count == 0 ? 1 : sum / count;
}

void GpModel::drop_beliefs() {
  for (LazyGp& process : processes_) process.truncate(size());
}

}  // namespace detol
