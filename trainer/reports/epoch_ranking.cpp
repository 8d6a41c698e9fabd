#include "trainer/reports/epoch_ranking.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace detol::inline trainer {
namespace {

constexpr std::string_view kTrainTime = "train_time";

bool is_cost(std::string_view metric) {
  return std::ranges::find(kCostMetrics, metric) != kCostMetrics.end();
}

double value_in(const EpochReport& report, std::string_view metric) {
  const auto found = std::ranges::find(report.metrics, metric, &Metric::name);
  return found == report.metrics.end() ? std::numeric_limits<double>::quiet_NaN() : found->value;
}

// Returns how far the last report breaks the constraints.
double violation(const EpochRanking& ranking, std::span<const EpochReport> history) {
  double train_s = 0;
  for (const EpochReport& report : history) train_s += report.train_s;
  double sum = 0;
  for (const MetricConstraint& one : ranking.constraints) {
    const bool is_time = one.metric == kTrainTime;
    sum += violation_of(one, is_time ? train_s : value_in(history.back(), one.metric));
  }
  return sum;
}

}  // namespace

std::optional<EpochRanking> epoch_ranking_of(const StudyConfig& config) {
  const auto is_measured = [](const Objective& objective) { return !is_cost(objective.metric); };
  const auto first = std::ranges::find_if(config.objectives, is_measured);
  if (config.keep != Keep::kBest || first == config.objectives.end()) return std::nullopt;
  EpochRanking ranking{first->metric, first->direction};
  for (const MetricConstraint& one : config.metric_constraints) {
    if (!is_cost(one.metric) || one.metric == kTrainTime) ranking.constraints.push_back(one);
  }
  return ranking;
}

bool is_best(const EpochRanking& ranking, std::span<const EpochReport> history) {
  std::size_t before = history.size() - 1;
  while (before > 0 && !history[before - 1].is_best) --before;
  if (before == 0) return true;
  const auto best = history.first(before);
  const bool breaks = violation(ranking, history) > 0, broke = violation(ranking, best) > 0;
  if (breaks != broke) return broke;
  return is_better(ranking.direction, value_in(history.back(), ranking.metric),
                   value_in(best.back(), ranking.metric));
}

std::string to_text(const std::optional<EpochRanking>& ranking) {
  if (!ranking) return "";
  std::string text = fmt::format("best {} {}", ranking->metric,
                                 ranking->direction == Direction::kMaximize ? "max" : "min");
  for (const MetricConstraint& one : ranking->constraints) {
    text += " " + one.metric;
    if (one.low) text += fmt::format(">={}", *one.low);
    if (one.high) text += fmt::format("<={}", *one.high);
  }
  return text;
}

}  // namespace detol::inline trainer
