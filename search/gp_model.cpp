#include "search/gp_model.h"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <numeric>

namespace detol::inline search {
namespace {

double weighted_sum(std::span<const double> weights, std::span<const double> means) {
  return std::inner_product(weights.begin(), weights.end(), means.begin(), 0.0);
}

// Returns the predictions of the sources, a number each, of observation or candidate i.
std::span<const double> row_of(const std::vector<double>& means, std::size_t i,
                               std::size_t sources) {
  return std::span(means).subspan(i * sources, sources);
}

// Returns the transformed outcome of an observation, less what the sources predict.
double residual(const Observed& observed, std::size_t output, std::size_t i, const OutputFit& fit) {
  const double y = fit.transform(observed.outcomes[output][i]);
  if (fit.weights.empty()) return y;
  return y - weighted_sum(fit.weights, row_of(observed.means[output], i, observed.sources));
}

}  // namespace

Points points_of(const Features& features, const Points& points,
                 std::span<const std::size_t> chosen) {
  Points some = features.empty_points();
  for (std::size_t i : chosen) some.push_back(points[i]);
  return some;
}

std::vector<double> residuals(const Observed& observed, std::size_t output, const OutputFit& fit,
                              std::span<const std::size_t> chosen) {
  std::vector<double> y;
  for (std::size_t i : chosen) y.push_back(residual(observed, output, i, fit));
  return y;
}

std::vector<OutcomeTransform> transforms_for(const Features& features, const Observed& observed,
                                             std::size_t output) {
  using Origin = OutcomeTransform::Origin;
  using Power = OutcomeTransform::Power;
  const std::vector<double>& outcomes = observed.outcomes[output];
  if (output >= observed.first_constraint()) return {OutcomeTransform::fitted_to_bound(outcomes)};
  if (output >= observed.objectives) return {OutcomeTransform()};
  if (observed.sources > 0) return {OutcomeTransform::fitted(outcomes)};
  const bool is_of_networks = features.has_graph() && !features.has_numbers();
  const Power power = is_of_networks ? Power::kHalf : Power::kLikeliest;
  return {OutcomeTransform::fitted(outcomes, Origin::kMean, power),
          OutcomeTransform::fitted(outcomes, Origin::kLeast, power)};
}

double log_evidence(const Observed& observed, std::size_t output, const OutcomeTransform& transform,
                    double log_posterior, std::span<const std::size_t> chosen) {
  std::vector<double> outcomes;
  for (std::size_t i : chosen) outcomes.push_back(observed.outcomes[output][i]);
  return log_posterior + transform.log_slopes(outcomes);
}

LazyGp process_of(const Features& features, const Observed& observed, const ModelFit& fit,
                  std::size_t output, const Points& candidates) {
  const OutputFit& of_output = fit.outputs[output];
  LazyGp process(features, of_output.kernel, points_of(features, observed.points, fit.members),
                 residuals(observed, output, of_output, fit.members));
  process.attach(candidates);
  return process;
}

std::vector<double> to_numbers(const ModelFit& fit) {
  std::vector<double> numbers;
  for (const OutputFit& output : fit.outputs) {
    for (double number : output.transform.to_numbers()) numbers.push_back(number);
    for (double number : to_numbers(output.kernel)) numbers.push_back(number);
    for (double weight : output.weights) numbers.push_back(weight);
  }
  if (fit.members.size() < fit.observations) {
    for (std::size_t member : fit.members) numbers.push_back(static_cast<double>(member));
  }
  return numbers;
}

std::optional<ModelFit> fit_from(std::span<const double> numbers, const Features& features,
                                 const Observed& observed, std::size_t observations) {
  const std::size_t outputs = observed.outcomes.size();
  const std::size_t of_transform = OutcomeTransform::kNumbers;
  const std::size_t of_kernel = to_numbers(default_parameters(features)).size();
  const std::size_t of_sources = observed.objectives * observed.sources;
  const std::size_t without_members = outputs * (of_transform + of_kernel) + of_sources;
  if (numbers.size() != without_members &&
      numbers.size() != without_members + std::min(observations, GpModel::kMostMembers))
    return std::nullopt;
  ModelFit fit{.outputs = {}, .observations = observations, .members = {}};
  for (std::size_t i = 0; i < outputs; ++i) {
    fit.outputs.push_back(
        {.kernel = from_numbers(numbers.subspan(of_transform, of_kernel), features),
         .transform = OutcomeTransform::from_numbers(numbers.first(of_transform)),
         .weights = {}});
    numbers = numbers.subspan(of_transform + of_kernel);
    if (i >= observed.objectives) continue;
    const std::span<const double> weights = numbers.first(observed.sources);
    fit.outputs.back().weights.assign(weights.begin(), weights.end());
    numbers = numbers.subspan(observed.sources);
  }
  for (double member : numbers) {
    const double least = fit.members.empty() ? 0 : static_cast<double>(fit.members.back()) + 1;
    if (!(member >= least && member < static_cast<double>(observations))) return std::nullopt;
    fit.members.push_back(static_cast<std::size_t>(member));
  }
  if (numbers.empty()) fit.members = indices_below(observations);
  return fit;
}

GpModel::GpModel(std::shared_ptr<const Features> features, std::size_t outputs,
                 std::size_t objectives, Points candidates,
                 std::shared_ptr<const SourceModels> sources, const OutputBounds& bounds)
    : features_(std::move(features)),
      sources_(std::move(sources)),
      candidates_(std::move(candidates)),
      observed_{features_->empty_points(), {}, objectives} {
  observed_.outcomes.resize(outputs);
  observed_.bounds = bounds;
  if (sources_ != nullptr) {
    observed_.sources = sources_->size();
    observed_.means.resize(objectives);
  }
  fit_.outputs.assign(outputs,
                      {.kernel = default_parameters(*features_), .transform = {}, .weights = {}});
}

void GpModel::append(const Point& x, std::span<const double> outcomes) {
  observed_.points.push_back(x);
  for (std::size_t i = 0; i < outcomes.size(); ++i) observed_.outcomes[i].push_back(outcomes[i]);
  for (std::size_t i = 0; i < observed_.means.size(); ++i) {
    for (double mean : sources_->means(i, x)) observed_.means[i].push_back(mean);
  }
}

void GpModel::correct(std::size_t observation, std::span<const double> outcomes) {
  for (std::size_t i = 0; i < outcomes.size(); ++i)
    observed_.outcomes[i][observation] = outcomes[i];
  const auto member = std::ranges::lower_bound(members_, observation);
  if (processes_.empty() || member == members_.end() || *member != observation) return;
  drop_fantasies();
  surprise_.reset();
  for (std::size_t i = 0; i < outcomes.size(); ++i)
    processes_[i].replace(static_cast<std::size_t>(member - members_.begin()),
                          residual(observed_, i, observation, fit_.outputs[i]));
}

void GpModel::use(ModelFit fit, std::vector<LazyGp> processes) {
  assert(fit.outputs.size() == fit_.outputs.size() && fit.observations <= size());
  fit_ = std::move(fit);
  members_ = fit_.members;
  fantasies_.clear();
  begun_.clear();
  surprise_.reset();
  processes_ = std::move(processes);
  for (std::size_t i = 0; i < processes_.size(); ++i)
    processes_[i].replace_all(residuals(observed_, i, fit_.outputs[i], members_));
}

void GpModel::catch_up() {
  for (std::size_t i = processes_.size(); i < fit_.outputs.size(); ++i)
    processes_.push_back(process_of(*features_, observed_, fit_, i, candidates_));
  const std::size_t begun = fit_.members.size();
  const std::size_t next = fit_.observations + (members_.size() - begun);
  const std::size_t last = std::min(size(), fit_.observations + kMostAppended);
  if (next >= last) return;
  drop_fantasies();
  surprise_.reset();
  for (std::size_t j = next; j < last; ++j) {
    const Point x = observed_.points[j];
    std::vector<LazyGp::Begun> fantasy = take_begun(x);
    for (std::size_t i = 0; i < processes_.size(); ++i)
      processes_[i].append(x, residual(observed_, i, j, fit_.outputs[i]), std::move(fantasy[i]));
    members_.push_back(j);
  }
}

// Returns what the fantasy at a point that is now measured began, per process, and forgets it.
std::vector<LazyGp::Begun> GpModel::take_begun(const Point& x) {
  const auto at = std::ranges::find(
      begun_, x, [](const auto& each) -> const Point& { return each.second.point; });
  if (at == begun_.end()) return std::vector<LazyGp::Begun>(processes_.size());
  return std::move(begun_.extract(at).mapped().begun);
}

void GpModel::fantasize(std::span<const Pending> pending) {
  catch_up();
  if (sources_ != nullptr && candidate_means_.empty()) {
    candidate_means_.resize(observed_.objectives);
    for (std::size_t i = 0; i < observed_.objectives; ++i) {
      for (std::size_t j = 0; j < candidates_.size(); ++j) {
        for (double mean : sources_->means(i, candidates_[j])) candidate_means_[i].push_back(mean);
      }
    }
  }
  const auto differ = std::ranges::mismatch(fantasies_, pending, {}, {}, &Pending::key);
  drop_fantasies(static_cast<std::size_t>(differ.in1 - fantasies_.begin()));
  std::unordered_map<std::uint64_t, BegunFantasy> before;
  before.swap(begun_);
  for (const Pending& each : pending) {
    BegunFantasy& begun = begun_[each.key] = std::move(before[each.key]);
    begun.point = *each.point;
    begun.begun.resize(processes_.size());
  }
  for (const Pending& each : pending.subspan(fantasies_.size())) {
    for (std::size_t i = 0; i < processes_.size(); ++i)
      processes_[i].append_fantasy(*each.point, begun_[each.key].begun[i]);
    fantasies_.push_back(each.key);
  }
}

void GpModel::update_candidates() {
  for (std::size_t j = 0; j < fantasies_.size(); ++j) {
    std::vector<LazyGp::Begun>& begun = begun_[fantasies_[j]].begun;
    for (std::size_t i = 0; i < processes_.size(); ++i)
      processes_[i].update_candidates(members_.size() + j, begun[i]);
  }
}

bool GpModel::has_prior(std::size_t output) const {
  return std::ranges::any_of(fit_.outputs[output].weights, [](double w) { return w > 0; });
}

double GpModel::trust_in_sources() const {
  const std::vector<double>& weights = fit_.outputs.front().weights;
  return std::min(1.0, std::accumulate(weights.begin(), weights.end(), 0.0));
}

double GpModel::prior_mean(std::size_t output, const Point& x) const {
  if (!has_prior(output)) return 0;
  return weighted_sum(fit_.outputs[output].weights, sources_->means(output, x));
}

std::vector<double> GpModel::prior_means(std::size_t output, const Points& points) const {
  std::vector<double> means(points.size(), 0);
  if (!has_prior(output)) return means;
  for (std::size_t i = 0; i < means.size(); ++i) means[i] = prior_mean(output, points[i]);
  return means;
}

std::vector<Prediction> GpModel::predict(std::size_t output, const Points& points) const {
  return predict(output, processes_[output], points);
}

std::vector<Prediction> GpModel::predict(std::size_t output, const LazyGp& process,
                                         const Points& points) const {
  std::vector<Prediction> predictions = process.predict(points);
  const std::vector<double> means = prior_means(output, points);
  for (std::size_t i = 0; i < means.size(); ++i) predictions[i].mean += means[i];
  return predictions;
}

std::vector<double> GpModel::means(std::size_t output, const Points& points) const {
  std::vector<double> means = processes_[output].means(points);
  const std::vector<double> of_sources = prior_means(output, points);
  for (std::size_t i = 0; i < of_sources.size(); ++i) means[i] += of_sources[i];
  return means;
}

std::vector<Prediction> GpModel::predict_candidates(std::size_t output) const {
  std::vector<Prediction> predictions = processes_[output].predict_candidates();
  if (!has_prior(output)) return predictions;
  for (std::size_t i = 0; i < predictions.size(); ++i)
    predictions[i].mean += weighted_sum(fit_.outputs[output].weights,
                                        row_of(candidate_means_[output], i, observed_.sources));
  return predictions;
}

LazyGp::Slope GpModel::slope(std::size_t output, const LazyGp& process, const Point& x) const {
  LazyGp::Slope slope = process.slope(x);
  if (!has_prior(output)) return slope;
  slope.at.mean += prior_mean(output, x);
  const std::vector<double> gradient = sources_->gradient(output, x, fit_.outputs[output].weights);
  for (std::size_t i = 0; i < gradient.size(); ++i) slope.mean[i] += gradient[i];
  return slope;
}

bool GpModel::keeps_constraints(std::size_t entry) const {
  for (std::size_t i = observed_.first_constraint(); i < processes_.size(); ++i) {
    if (processes_[i].outcomes()[processes_[i].row_of(entry)] > bound(i)) return false;
  }
  return true;
}

std::optional<double> GpModel::least_smoothed(std::size_t output) const {
  const LazyGp& process = processes_[output];
  std::vector<double> smoothed = process.smoothed();
  const std::vector<double> means = prior_means(output, process.points());
  for (std::size_t i = 0; i < means.size(); ++i) smoothed[i] += means[i];
  std::optional<double> least;
  for (std::size_t i = 0; i < process.observations(); ++i) {
    const double own = smoothed[process.row_of(i)];
    if (keeps_constraints(i) && (!least || own < *least)) least = own;
  }
  return least;
}

LazyGp GpModel::near(std::size_t output, const Point& x, std::size_t count) const {
  const LazyGp& process = processes_[output];
  const std::size_t rows = process.rows();
  std::vector<std::size_t> left_out;
  std::ranges::set_difference(indices_below(size()), members_, std::back_inserter(left_out));
  std::vector<double> similarities(rows), with_others(size());
  process.kernel().row(x, process.points(), similarities);
  process.kernel().row(x, observed_.points, with_others);
  for (std::size_t j : left_out) similarities.push_back(with_others[j]);
  std::vector<std::size_t> order = indices_below(similarities.size());
  count = std::min(count, order.size());
  std::ranges::partial_sort(order, order.begin() + static_cast<std::ptrdiff_t>(count), {},
                            [&](std::size_t i) { return -similarities[i]; });
  Points points = features_->empty_points();
  std::vector<double> y;
  for (std::size_t i : std::span(order).first(count)) {
    const std::size_t other = i < rows ? 0 : left_out[i - rows];
    points.push_back(i < rows ? process.points()[i] : observed_.points[other]);
    y.push_back(i < rows ? process.outcomes()[i]
                         : residual(observed_, output, other, fit_.outputs[output]));
  }
  return LazyGp(*features_, process.kernel().parameters(), points, y);
}

double GpModel::surprise() {
  catch_up();
  if (surprise_) return *surprise_;
  drop_fantasies();
  double sum = 0, count = 0;
  for (const LazyGp& process : processes_) {
    for (double innovation : process.innovations(fit_.members.size())) {
      sum += innovation * innovation;
      ++count;
    }
  }
  surprise_ = count == 0 ? 1 : sum / count;
  return *surprise_;
}

void GpModel::drop_fantasies(std::size_t left) {
  if (fantasies_.size() <= left) return;
  fantasies_.resize(left);
  for (LazyGp& process : processes_) process.truncate(members_.size() + left);
}

}  // namespace detol::inline search
