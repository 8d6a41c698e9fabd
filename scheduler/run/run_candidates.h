#pragma once

// RunCandidates: the candidates of a study that workers train. They are refused and foreseen by
// candidate_costs.h, answered by other studies of the knowledge base, and inherit weights
// (inheritance.h).

#include <filesystem>
#include <functional>

#include "encodings/study/study_config.h"
#include "scheduler/candidates.h"
#include "scheduler/network_facts.h"
#include "scheduler/run/candidate_costs.h"
#include "scheduler/run/inheritance.h"
#include "trainer/data/dataset.h"

namespace detol::inline scheduler {

// RunCandidatesSettings: all that is referred to outlives the candidates.
struct RunCandidatesSettings {
  const StudyConfig& config;
  const DatasetInfo& data;
  Ledger& ledger;
  StudyId study = 0;
  std::string backend = {};
  int ranks = 1;
  std::filesystem::path storage = {};    // the knowledge base
  std::filesystem::path artefacts = {};  // of the study
  Admission admit = {};
};

class RunCandidates final : public Candidates {
 public:
  explicit RunCandidates(RunCandidatesSettings settings);

  Decoded decode(const Genome& genome) override;
  std::optional<StudyConfig::Refused> refusal_of(const Candidate& candidate) override;
  double foreseen_bytes(const Candidate& candidate) override;
  double epoch_work(const Candidate& candidate) override;
  NamedMetrics cost_metrics(const Genome& genome) override;
  std::string identity_of(const Candidate& candidate) override;
  std::optional<Fact> network_fact(const Candidate& candidate) override;

  // Shares the checkpoints of the other trial. Returns nothing if the study takes nothing from
  // others, or measures latency, which theirs is not of this device.
  Result<std::optional<KnownTrial>> recall(const event::Asked& asked,
                                           const Candidate& candidate) override;
  std::optional<ParentWeights> inherit(const Trial& trial, const Candidate& candidate,
                                       const StudyState& state) override;

 private:
  const RunCandidatesSettings settings_;
  const CandidateCosts costs_;
  const Inherits inherit_;
  NetworkFacts networks_;
};

}  // namespace detol::inline scheduler
