#pragma once

// What is known of a candidate's cost before it trains: whether its training fits into the memory
// of a worker, and the metrics that follow from its network.

#include "encodings/study/study_config.h"
#include "scheduler/driver.h"
#include "scheduler/processes/run_options.h"

namespace detol::inline scheduler {

// Returns a function that refuses candidates whose training needs more memory than the study allows
// or a worker has; null if nothing is trained or no limit is known.
Refuse refuse_beyond_memory(const StudyConfig& config, const RunOptions& options);

// Returns a function that computes params, flops and memory as far as the study weighs them; null
// if it weighs none.
CostMetrics cost_metrics_of(const StudyConfig& config);

}  // namespace detol::inline scheduler
