#pragma once

// Decision thresholds: the probability above which the second of two classes is chosen, or a label
// of several: 1/2 unless something else was asked for. Where a class is rare, or missing it costs
// more than a false alarm, another threshold decides better, and the probabilities stay as they
// are.

#include <span>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "encodings/network/task.h"
#include "trainer/data/dataset.h"
#include "trainer/test_metrics.h"

namespace detol::inline trainer {

inline constexpr double kUsualThreshold = 0.5;

// The metrics that depend on decisions, without their prefix: accuracy, f1, ...
std::span<const std::string_view> decision_metrics();

// Returns whether the outputs of a task are decided by a threshold: two classes, or labels.
bool has_threshold(const Task& task);

// Returns the logit of a probability in (0, 1).
double logit_of(double probability);

// Returns the outputs (N x outputs of the task) whose decisions by the usual threshold are those of
// the given ones by `threshold`. REQUIRES: has_threshold(task), 0 < threshold < 1.
std::vector<float> decided_at(double threshold, const Task& task, std::span<const float> outputs);

// Returns the metrics of metrics_with_intervals() where decisions are made by the threshold.
// REQUIRES: as both.
std::vector<TestMetric> metrics_at(double threshold, const Dataset& data, Range range,
                                   std::span<const float> outputs, const Recipe& recipe);

// Returns the threshold of the highest metric (one of decision_metrics()) of the outputs for a
// range of the data; the one next to 1/2 of equal ones. Tries 1/2 and at most 255 others, which
// divide the outputs into equal parts. REQUIRES: as metrics_of; has_threshold(data.info.task).
double best_threshold(std::string_view metric, const Dataset& data, Range range,
                      std::span<const float> outputs, const Recipe& recipe);

}  // namespace detol::inline trainer
