#pragma once

// --threshold: the probability above which the second of two classes, or a label, is chosen
// (trainer/threshold.h): a number, or a metric that the threshold is chosen by on the validation
// part.

#include <optional>
#include <string>

#include "models/trained_model.h"
#include "trainer/ensemble.h"
#include "trainer/threshold.h"

namespace detol::inline models {

struct ThresholdRequest {
  double value = kUsualThreshold;
  std::string metric = {};  // one of decision_metrics(); empty: the value counts
};

// Returns what a text asks for. Errors (kUsage): neither a metric nor a number between 0 and 1.
Result<ThresholdRequest> threshold_from(const std::string& text);

// Returns whether the data are needed, to choose by them.
inline bool needs_data(const std::optional<ThresholdRequest>& request) {
  return request && !request->metric.empty();
}

// Returns the error (kUsage) that the task has neither two classes nor labels, unless it has.
Result<void> check_has_threshold(const Task& task);

// Returns the threshold for a network, and says it where a metric chose it. `trained_on`: as
// event::Model has it. Errors: as above; kUsage: the network was trained on the validation part, or
// there is none; as outputs_of. REQUIRES: `shared` has the data, if there is a metric.
Result<double> threshold_for(const ThresholdRequest& request, const Voters& network,
                             const StudyData& shared, const std::string& trained_on,
                             const std::string& backend);

// ThresholdScore: what a network that decides by a threshold reaches in the test.
struct ThresholdScore {
  double threshold = 0;
  event::Model measured;  // its test metrics alone
};
Result<ThresholdScore> score_at(const ThresholdRequest& request, const TrainedNetwork& network,
                                const StudyData& shared, const std::string& trained_on,
                                const std::string& backend);

}  // namespace detol::inline models
