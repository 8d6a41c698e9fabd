#pragma once

// Test metrics: what a trained network scores on images that no part of the search has seen. Each
// metric of the task that trials report as val_X is here test_X, with its confidence interval
// (confidence.h): Wilson's for test_accuracy and test_top5 where an image has one answer, else by
// bootstrap. test_loss is the loss that the recipe trains with, without label smoothing, as in
// validation.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "encodings/network/network.h"
#include "encodings/study/recipe.h"
#include "trainer/backends/weights.h"
#include "trainer/confidence.h"
#include "trainer/data/dataset.h"

namespace detol::inline trainer {

struct TestMetric {
  std::string name;  // test_accuracy, test_loss, ...
  double value = 0;
  ConfidenceInterval interval;
};

// Returns them from the outputs (N x outputs) for a range of the data. The same input gives the
// same bits. REQUIRES: range.count > 0.
std::vector<TestMetric> metrics_with_intervals(const Dataset& data, Range range,
                                               std::span<const float> outputs,
                                               const Recipe& recipe);

// Returns metrics of the outputs by their names in validation (val_loss, ...), without intervals.
// REQUIRES: range.count > 0; the data's task has them.
std::vector<double> metrics_of(const Dataset& data, Range range, std::span<const float> outputs,
                               const Recipe& recipe, const std::vector<std::string>& names);

// Runs the network on the test split. Errors: kInput if the data have none, or the network does not
// fit them; kUsage for an unknown backend.
Result<std::vector<TestMetric>> test_metrics(const Network& network, const Weights& weights,
                                             const Recipe& recipe, const Dataset& data,
                                             std::string_view backend);

}  // namespace detol::inline trainer
