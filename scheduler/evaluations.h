#pragma once

// Evaluations: what runs. The messages of the workers, and of callers who evaluate trials
// themselves, become events and their acknowledgements; trials that take too long, or that a budget
// cuts short, are ended. Not thread-safe.

#include "scheduler/budget_guard.h"
#include "scheduler/ending.h"
#include "scheduler/outbox.h"
#include "scheduler/recorder.h"
#include "scheduler/running_trials.h"

namespace detol::inline scheduler {

class Evaluations {
 public:
  // All outlive this object.
  Evaluations(const DriverParts& parts, const StudyState& state, RunningTrials& running,
              BudgetGuard& budget, Ending& ending, Recorder& recorder, Outbox& outbox)
      : parts_(parts),
        state_(state),
        running_(running),
        budget_(budget),
        ending_(ending),
        recorder_(recorder),
        outbox_(outbox) {}

  // Records what follows from a message; nothing follows here from a request to stop. Errors: of an
  // Unusable pool, and of the ledger.
  Result<void> handle(const PoolEvent& event);

  // Ends trials that take too long and report nothing.
  Result<void> end_overlong();

  // Suspends what runs when the budget is used up, and gives up on workers that do not answer.
  Result<void> suspend_at_the_end();

 private:
  Result<void> on(const message::Report& report);
  Result<void> on(const message::Timed& timed);
  Result<void> on(const message::Ended& ended);
  Result<void> on(const Scored& scored);
  Result<void> on(const Lost& lost);
  Result<void> on(const StopRequest&) { return {}; }
  Result<void> on(const Unusable& unusable) { return tl::unexpected(unusable.error); }
  Result<void> wait_for_the_disk(const message::Ended& ended);
  Result<Verdict> judge(TrialId trial, const EpochReport& report);

  const DriverParts& parts_;
  const StudyState& state_;
  RunningTrials& running_;
  BudgetGuard& budget_;
  Ending& ending_;
  Recorder& recorder_;
  Outbox& outbox_;
  double looked_at_durations_s_ = 0;
};

}  // namespace detol::inline scheduler
