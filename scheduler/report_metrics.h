#pragma once

// ReportMetrics completes the reports of trials with what follows from their networks or from
// earlier reports: the costs that the study weighs (kCostMetrics), and how far its constraints are
// broken (kViolationMetric). Depends only on the reports that it was shown. Not thread-safe.

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "encodings/study/study_config.h"
#include "knowledge/ledger.h"

namespace detol::inline scheduler {

using NamedMetrics = std::vector<std::pair<std::string, double>>;

// Returns a function that computes what the study weighs of the parameters and FLOPs of a
// candidate; null if it weighs neither.
std::function<NamedMetrics(const Candidate&)> network_costs_of(const StudyConfig& config);

class ReportMetrics {
 public:
  // The config outlives this object.
  explicit ReportMetrics(const StudyConfig& config);

  // Adds the metrics that are missing from a report of a trial, or replaces those that are measured
  // once. `train_s`: wall time of the training so far. `costs` is called once for a trial
  // at most, and only where the study weighs any.
  void complete(event::Reported& report, double train_s,
                const std::function<NamedMetrics()>& costs);

  // Remembers what later reports of the trial repeat. Called with each report, in the ledger's
  // order.
  void learn(const event::Reported& report);

 private:
  void add_violation(event::Reported& report) const;
  void learn_target(const event::Reported& report);

  const StudyConfig& config_;
  const bool weighs_costs_;
  std::map<TrialId, NamedMetrics> costs_;       // of the trials that reported here
  std::map<TrialId, double> latency_s_;         // of the first report
  std::map<TrialId, double> epochs_to_target_;  // of trials that reached the target
};

}  // namespace detol::inline scheduler
