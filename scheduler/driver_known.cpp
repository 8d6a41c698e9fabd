// This file answers trials that need not be trained from those that were (equal_trials.h).

#include "scheduler/driver.h"

namespace detol::inline scheduler {

// Answers the trials that never started and whose equals have ended.
Result<void> Driver::answer_waiting() {
  for (TrialId id : state_.in_state(TrialState::kWaiting)) {
    const TrialRecord& trial = *state_.find(id);
    if (trial.attempt > 0 || equals_.may_repeat(trial.identity)) continue;
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
