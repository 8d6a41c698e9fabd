// This file decides what need not be trained, as it is known or will be soon. A candidate whose
// outcome is known is answered from it. One that equals a trial which still runs or waits becomes a
// WAITING trial, that is answered when the other one ends:
//
//   trial 7 runs; proposal 9 is the same candidate: asked, WAITING; its worker gets proposal 10
//   told 7 -> told 9, "same as trial 7"; or 7 was lost for good -> 9 starts
//
// Who asked for `repeats` gets them first. A candidate that a caller brought waits for no other.

#include "scheduler/driver.h"

namespace detol::inline scheduler {
namespace {

constexpr int kMostEqualInRow = 32;  // proposals until the searcher is told more

}  // namespace

// Returns true if a candidate is to be measured again, although it was, or is being, measured.
bool Driver::may_repeat(const std::string& identity) const {
  const int repeats = parts_.config.repeats;
  return repeats > 0 && state_.measurements(identity) <= repeats;
}

// Returns true if a trial that never started is not to start before an earlier one of the same
// identity has ended.
bool Driver::waits_for_equal(TrialId trial) const {
  const TrialRecord& entry = *state_.find(trial);
  if (entry.attempt > 0 || entry.trial.proposer == kCaller) return false;
  const TrialRecord* first = state_.first_open(entry.identity);
  return first != nullptr && first->trial.id < trial && !may_repeat(entry.identity);
}

// Returns true if every candidate of the space was told, so that there is nothing to ask for.
bool Driver::is_space_known() const {
  return parts_.config.repeats == 0 && static_cast<double>(state_.known()) >= candidates_;
}

// Returns true if the searcher has nothing to propose that is not known, or will be without it.
bool Driver::is_nothing_new() const {
  return equal_in_row_ >= kMostEqualInRow || is_space_known();
}

// Answers the trials that never started and whose equals have ended.
Result<void> Driver::answer_waiting() {
  for (TrialId id : state_.in_state(TrialState::kWaiting)) {
    const TrialRecord& trial = *state_.find(id);
    if (trial.attempt > 0 || may_repeat(trial.identity)) continue;
    if (const TrialRecord* earlier = state_.answer_for(trial.identity))
      DETOL_TRY(answer(id, *earlier));
  }
  return {};
}

// Records the outcome of an earlier trial of this study as this trial's own.
Result<void> Driver::answer(TrialId trial, const TrialRecord& earlier) {
  return record(event::Told{.trial = trial,
                            .state = earlier.state,
                            .reason = {EndCause::kSameTrial, "", earlier.trial.id},
                            .outcome = *earlier.outcome,
                            .at_s = parts_.clock.wall_s()});
}

// Records the reports and the outcome of a trial of another study as this trial's own. They cost
// this study neither work nor time.
Result<void> Driver::take_over(TrialId trial, const KnownTrial& known) {
  double train_s = 0;
  for (event::Reported reported : known.reports) {
    train_s += reported.train_s;
    reported.trial = trial;
    complete(reported, train_s);
    reported.attempt = 0;
    reported.work = 0;
    reported.train_s = 0;
    DETOL_TRY(record(std::move(reported)));
  }
  return record(event::Told{.trial = trial,
                            .state = known.told.state,
                            .reason = {EndCause::kSameTrial, known.study, known.trial},
                            .outcome = known.told.outcome,
                            .at_s = parts_.clock.wall_s()});
}

}  // namespace detol::inline scheduler
