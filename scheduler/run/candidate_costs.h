#pragma once

// What is known of a candidate's cost before it trains: whether its training fits into the memory
// of a worker, and the metrics that follow from its network.

#include "encodings/study/study_config.h"
#include "scheduler/driver.h"

namespace detol::inline scheduler {

// Returns a function that refuses candidates whose training needs more memory than the study
// allows; null if it allows any.
Refuse refuse_beyond_constraints(const StudyConfig& config);

// Returns a function that foresees the memory of a training; null if nothing is trained.
ForeseenBytes foreseen_bytes_of(const StudyConfig& config);

// Returns a function that computes params, flops and memory as far as the study weighs them; null
// if it weighs none.
CostMetrics cost_metrics_of(const StudyConfig& config);

}  // namespace detol::inline scheduler
