#pragma once

// CandidateCosts: what is known of a candidate's cost before it trains: whether a group can train
// it and has the memory, and the metrics that follow from its network.

#include <functional>
#include <optional>

#include "encodings/study/study_config.h"
#include "scheduler/report_metrics.h"
#include "trainer/data/dataset.h"

namespace detol::inline scheduler {

class CandidateCosts {
 public:
  // The trainings are by groups of so many ranks. Both outlive this object.
  CandidateCosts(const StudyConfig& config, const DatasetInfo& data, int ranks);

  // Refuses a candidate by refusal_of(); none if nothing is trained.
  std::optional<StudyConfig::Refused> refusal_of(const Candidate& candidate) const;

  // Returns the memory of a training; 0 if it is unknown, or nothing is trained.
  double foreseen_bytes(const Candidate& candidate) const;

  // Returns params, flops and memory as far as the study weighs them.
  bool has_metrics() const { return of_network_ || weighs_memory_; }
  NamedMetrics metrics(const Candidate& candidate) const;

 private:
  const StudyConfig& config_;
  const DatasetInfo& data_;
  const int ranks_;
  const std::function<NamedMetrics(const Candidate&)> of_network_;
  const bool weighs_memory_;
};

}  // namespace detol::inline scheduler
