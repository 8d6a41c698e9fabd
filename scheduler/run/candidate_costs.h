#pragma once

// What is known of a candidate's cost before it trains: whether a group can train it and has the
// memory, and the metrics that follow from its network.

#include "encodings/study/study_config.h"
#include "scheduler/driver.h"
#include "trainer/data/dataset.h"

namespace detol::inline scheduler {

// Returns a function that refuses candidates by refusal_of(); null if nothing is trained.
Refuse refuse_untrainable(const StudyConfig& config, const DatasetInfo& data, int ranks);

// Returns a function that foresees the memory of a training by a group; null if nothing is trained.
ForeseenBytes foreseen_bytes_of(const StudyConfig& config, int ranks);

// Returns a function that computes params, flops and memory as far as the study weighs them; null
// if it weighs none.
CostMetrics cost_metrics_of(const StudyConfig& config, int ranks);

}  // namespace detol::inline scheduler
