#pragma once

// Candidates: what is known of the candidates of a study before they train: the driver's view of
// encodings, data and other studies. Only decode() must be given; the others then say that nothing
// more is known. Called in the driver's thread.

#include <optional>
#include <string>
#include <string_view>

#include "encodings/study/study_config.h"
#include "knowledge/ledger.h"
#include "scheduler/report_metrics.h"
#include "scheduler/study_state.h"

namespace detol::inline scheduler {

// kCaller is the proposer of candidates that callers bring.
inline constexpr std::string_view kCaller = "caller";

using Decoded = tl::expected<Candidate, StudyConfig::Refused>;

class Candidates {
 public:
  virtual ~Candidates() = default;

  virtual Decoded decode(const Genome& genome) = 0;

  // Returns why a candidate is not trained, or nothing if it is. Called before the first start of a
  // trial.
  virtual std::optional<StudyConfig::Refused> refusal_of(const Candidate&) { return std::nullopt; }

  // Returns the bytes that a candidate's training needs; 0: unknown. A trial starts on a worker
  // with so much memory.
  virtual double foreseen_bytes(const Candidate&) { return 0; }

  // Returns the work of one epoch of a candidate; 0: it is unknown before the first report.
  virtual double epoch_work(const Candidate&) { return 0; }

  // Returns the metrics of a candidate that follow from its network and that the study weighs, with
  // which its reports are completed. Called once for a trial.
  virtual NamedMetrics cost_metrics(const Genome&) { return {}; }

  // Returns event::Asked::identity; empty: candidates have none.
  virtual std::string identity_of(const Candidate&) { return {}; }

  // Returns what is to be stored of a candidate's network with its Asked; nullopt if it is stored
  // already, or never is.
  virtual std::optional<Fact> network_fact(const Candidate&) { return std::nullopt; }

  // Returns a trial of another study that was trained in the same way, whose outcome the trial
  // takes. Not called where trials inherit weights, or have no identity.
  virtual Result<std::optional<KnownTrial>> recall(const event::Asked&, const Candidate&) {
    return std::optional<KnownTrial>();
  }

  // Chooses the trial whose weights a candidate begins with, and keeps these weights for it;
  // nullopt: it begins with its own. Called right before the candidate is recorded.
  virtual std::optional<ParentWeights> inherit(const Trial&, const Candidate&, const StudyState&) {
    return std::nullopt;
  }
};

}  // namespace detol::inline scheduler
