#pragma once

// EpochRanking: which epoch of a training is its best. It knows only what a training measures of
// its epochs: metrics of the data, and the seconds that it took so far.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "encodings/space/trial.h"
#include "encodings/study/metric_constraint.h"
#include "encodings/study/study_config.h"
#include "trainer/reports/evaluation.h"

namespace detol::inline trainer {

struct EpochRanking {
  std::string metric;
  Direction direction = Direction::kMinimize;
  std::vector<MetricConstraint> constraints = {};  // of metrics that differ by epoch
};

// Returns how the epochs of the study's trials are ranked: by the first objective that is no cost
// (kCostMetrics), since the cost of a network says nothing about its weights. nullopt: the last
// epoch counts, because `training.keep` says so or all objectives are costs.
std::optional<EpochRanking> epoch_ranking_of(const StudyConfig& config);

// Returns whether the last report is the best of the history: better than the last one before that
// is marked as the best. An epoch that keeps to the constraints is better than one that breaks any;
// of equals the first is the best. REQUIRES: the history has a report.
bool is_best(const EpochRanking& ranking, std::span<const EpochReport> history);

// Returns a text that is equal only for equal rankings; empty for nullopt.
std::string to_text(const std::optional<EpochRanking>& ranking);

}  // namespace detol::inline trainer
