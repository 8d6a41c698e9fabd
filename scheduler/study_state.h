#pragma once

// StudyState: the state of a study, rebuilt from its events. It changes only by apply(), in a
// running search and in a replay, so that a resumed study has the state of the killed one. Not
// thread-safe.

#include <array>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/result.h"
#include "encodings/space/space.h"
#include "encodings/space/trial.h"
#include "encodings/study/metric_constraint.h"
#include "knowledge/ledger.h"
#include "knowledge/trial_rank.h"
#include "scheduler/budget.h"
#include "trainer/reports/algorithm_choices.h"

namespace detol::inline scheduler {

// TrialRecord holds what the driver needs to know of a trial.
struct TrialRecord {
  Trial trial;
  TrialState state = TrialState::kWaiting;
  int attempt = 0;               // the current or the last one; 0: never started
  double epochs = 0;             // acknowledged; a fraction after an early report
  double epochs_before = 0;      // acknowledged before this attempt
  double best_epoch = 0;         // of the best report so far (event::Reported::is_best)
  std::vector<double> values;    // one per objective, of the best report
  std::vector<double> excesses;  // one per constraint, likewise; as Measured::excesses
  double work = 0;
  double train_s = 0;       // wall time of its acknowledged epochs
  double unreported_s = 0;  // device time spent on the next epoch by attempts that were suspended
  int group_size = 1;       // of the current or the last attempt
  std::string worker;       // likewise
  std::optional<ParentWeights> inherits;
  int crashes = 0;        // attempts in a row that crashed or hung without a new epoch
  int losses = 0;         // attempts in a row without a new epoch that were lost for any cause
  int oom_kills = 0;      // attempts that the system's OOM killer ended
  int micro_batches = 1;  // of the next attempt; doubled by each OOM kill
  bool breaks_constraints = false;  // by the best report: kViolationMetric
  std::optional<Cause> failure;
  EndReason reason;      // once the trial is over
  std::string identity;  // equal for trials that would train the same network the same way
  std::optional<Outcome> outcome;  // with the excesses, which the ledger's outcome lacks

  bool is_over() const { return state >= TrialState::kComplete; }
};

class StudyState {
 public:
  StudyState(Space space, std::vector<Objective> objectives,
             std::vector<MetricConstraint> constraints = {})
      : space_(std::move(space)),
        objectives_(std::move(objectives)),
        constraints_(std::move(constraints)) {}

  // Applies one event. Errors (kStorage): the event does not fit the study; the message names the
  // trial.
  Result<void> apply(const Event& event);

  const std::vector<TrialRecord>& trials() const { return trials_; }  // by id
  const TrialRecord* find(TrialId trial) const;
  TrialId next_id() const { return trials_.size(); }
  const std::vector<Objective>& objectives() const { return objectives_; }

  int running() const { return static_cast<int>(ids(TrialState::kRunning).size()); }
  std::vector<TrialId> in_state(TrialState state) const {
    return {ids(state).begin(), ids(state).end()};
  }

  // Returns an ended trial of this identity whose outcome can be reused, or nullptr.
  const TrialRecord* answer_for(const std::string& identity) const;

  // Returns the first trial of this identity that is not over, or nullptr.
  const TrialRecord* first_open(const std::string& identity) const;

  // Counts the identities for which answer_for() has a trial.
  std::size_t known() const { return answers_.size(); }

  // Counts the trials of this identity that were trained, or are being trained, to an outcome that
  // can be reused.
  int measurements(const std::string& identity) const;

  // Returns whether an outcome that was applied is for the searcher: a trial that the budget ended
  // before its first report taught nothing, and stays expected.
  bool teaches(const event::Told& told) const;

  // Returns the best trial by the first objective among those that reported a number and keep to
  // the study's constraints, of equals one that is COMPLETE, or nullptr.
  const TrialRecord* best() const;

  // The algorithms that the study has recorded (trainer/reports/algorithm_choices.h).
  const AlgorithmChoices& choices() const { return choices_; }

  // Returns what the study had used at the last Accounted.
  const Spent& spent() const { return spent_; }

  int untrained_in_row() const { return untrained_in_row_; }      // refused, or already known
  int failed_after_start() const { return failed_after_start_; }  // but for those too large
  int succeeded() const { return succeeded_; }                    // trials trained and not failed

 private:
  Result<void> on(const event::Asked& asked);
  Result<void> on(const event::Started& started);
  Result<void> on(const event::Reported& reported);
  Result<void> on(const event::Told& told);
  Result<void> on(const event::Requeued& requeued);
  Result<void> on(const event::Accounted& accounted);
  Result<void> on(const event::Refit&) { return {}; }
  Result<void> on(const event::AlgorithmChosen& chosen) {
    choices_.algorithms.emplace(chosen.key, chosen.algorithm);  // the first choice of a shape stays
    return {};
  }
  Result<void> on(const event::StudyState&) { return {}; }
  Result<void> on(const event::Source&) { return {}; }
  Result<void> on(const event::Model&) { return {}; }

  // Rank orders trials, the best first (knowledge/trial_rank.h).
  struct Rank {
    Direction direction;
    TrialRank rank;
    bool operator<(const Rank& other) const;
  };

  Result<TrialRecord*> entry(TrialId trial, std::string_view event);
  void take_values(TrialRecord& trial, const event::Reported& reported) const;
  // Adds what one trial contributes to the sums, or (sign -1) takes it back.
  void count(const TrialRecord& entry, int sign);
  void close(const TrialRecord& entry);  // removes it from open_
  const std::set<TrialId>& ids(TrialState state) const {
    return ids_[static_cast<std::size_t>(state)];
  }

  Space space_;
  std::vector<Objective> objectives_;
  std::vector<MetricConstraint> constraints_;
  std::vector<TrialRecord> trials_;
  std::unordered_map<std::string, TrialId> answers_;         // by identity
  std::unordered_map<std::string, int> measurements_;        // by identity
  std::unordered_map<std::string, std::set<TrialId>> open_;  // those not over, by identity
  std::array<std::set<TrialId>, 5> ids_;                     // by state
  std::set<Rank> ranking_;                                   // of trials with a value
  AlgorithmChoices choices_;
  Spent spent_;
  int untrained_in_row_ = 0;
  int failed_after_start_ = 0;
  int succeeded_ = 0;
};

// Returns the identity of a candidate: its network and every choice outside the architecture, or
// all choices if there is no network.
std::string identity_of(const std::string& arch_hash,
                        std::span<const std::pair<std::string, Value>> params);

}  // namespace detol::inline scheduler
