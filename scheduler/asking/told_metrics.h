#pragma once

// The metrics that a caller tells of a trial. Private to this folder.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "encodings/study/study_config.h"
#include "scheduler/asking/calls.h"
#include "scheduler/study_state.h"
#include "trainer/reports/evaluation.h"

namespace detol::inline scheduler {

// Returns the metric's value; NaN if it is not there.
double value_in(const std::vector<Metric>& metrics, std::string_view name);

// Checks that all metrics are there that a caller has to tell. Errors (kUsage).
Result<void> check_told(const StudyConfig& config, const std::vector<Metric>& metrics);

// Sets what the study weighs of the costs of the candidate's network.
void add_costs(const StudyConfig& config, const Genome& genome, std::vector<Metric>& metrics);

// Returns why values fail their trial: an objective is no number.
std::optional<std::string> what_diverged(const StudyConfig& config,
                                         const std::vector<Metric>& metrics);

// Returns whether a trial that is over ended as the tell says, so that a repeated tell is one.
bool is_known(const StudyConfig& config, const TrialRecord& trial, const Told& told);

// Returns whether these metrics are better than the best ones of the trial's reports so far, by the
// first objective that is no cost of its network; always true if the last ones count.
bool is_best_told(const StudyConfig& config, const TrialRecord& trial,
                  const std::vector<Metric>& metrics);

}  // namespace detol::inline scheduler
