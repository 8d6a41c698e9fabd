#include "trainer/threshold.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "trainer/probabilities.h"

namespace detol::inline trainer {
namespace {

constexpr std::array<std::string_view, 4> kDecisionMetrics = {"accuracy", "f1", "balanced_accuracy",
                                                              "mcc"};
constexpr std::size_t kParts = 256;

// Returns the logits by which an output of two classes, or each label, is decided.
std::vector<float> decisive_logits(const Task& task, std::span<const float> outputs) {
  if (task.kind != TaskKind::kClassification) return {outputs.begin(), outputs.end()};
  std::vector<float> logits;
  for (std::size_t at = 0; at < outputs.size(); at += 2)
    logits.push_back(outputs[at + 1] - outputs[at]);
  return logits;
}

// Returns probabilities between those of the outputs, and 1/2.
std::vector<double> candidates(const Task& task, std::span<const float> outputs) {
  std::vector<float> logits = decisive_logits(task, outputs);
  std::ranges::sort(logits);
  std::vector<double> thresholds = {kUsualThreshold};
  for (std::size_t part = 1; part < kParts; ++part) {
    const std::size_t at = part * logits.size() / kParts;
    if (at == 0 || logits[at] == logits[at - 1]) continue;
    const double between = (double{logits[at - 1]} + double{logits[at]}) / 2;
    const double threshold = sigmoid(between);
    if (threshold > 0 && threshold < 1) thresholds.push_back(threshold);
  }
  return thresholds;
}

bool is_of_decisions(std::string_view test_metric) {
  return std::ranges::find(kDecisionMetrics,
                           test_metric.substr(std::string_view("test_").size())) !=
         kDecisionMetrics.end();
}

}  // namespace

std::span<const std::string_view> decision_metrics() {
  return kDecisionMetrics;
}

bool has_threshold(const Task& task) {
  return task.kind == TaskKind::kBinary || task.kind == TaskKind::kMultiLabel ||
         (task.kind == TaskKind::kClassification && task.classes == 2);
}

double logit_of(double probability) {
  return std::log(probability / (1 - probability));
}

std::vector<float> decided_at(double threshold, const Task& task, std::span<const float> outputs) {
  const auto shift = static_cast<float>(logit_of(threshold));
  const std::size_t step = task.kind == TaskKind::kClassification ? 2 : 1;
  std::vector<float> shifted(outputs.begin(), outputs.end());
  for (std::size_t at = step - 1; at < shifted.size(); at += step) shifted[at] -= shift;
  return shifted;
}

std::vector<TestMetric> metrics_at(double threshold, const Dataset& data, Range range,
                                   std::span<const float> outputs, const Recipe& recipe) {
  std::vector<TestMetric> metrics = metrics_with_intervals(data, range, outputs, recipe);
  const auto decided =
      metrics_with_intervals(data, range, decided_at(threshold, data.info.task, outputs), recipe);
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    if (is_of_decisions(metrics[i].name)) metrics[i] = decided[i];
  }
  return metrics;
}

double best_threshold(std::string_view metric, const Dataset& data, Range range,
                      std::span<const float> outputs, const Recipe& recipe) {
  const Task& task = data.info.task;
  double best = kUsualThreshold, highest = -INFINITY;
  for (const double threshold : candidates(task, outputs)) {
    const double value = metrics_of(data, range, decided_at(threshold, task, outputs), recipe,
                                    {"val_" + std::string(metric)})
                             .front();
    const bool is_nearer = std::abs(threshold - kUsualThreshold) < std::abs(best - kUsualThreshold);
    if (value > highest || (value == highest && is_nearer)) best = threshold, highest = value;
  }
  return best;
}

}  // namespace detol::inline trainer
