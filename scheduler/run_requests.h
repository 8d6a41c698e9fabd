#pragma once

// RunRequests does what people ask of a running study (knowledge/requests.h). A request is answered
// when what follows from it is durable, or when it cannot be granted any more; until then it stays
// where it was found, so that the next master finds it. All are such that a repeat changes nothing.
//
// A trial is pruned after its next report (evaluations.cpp), which its program has time to end
// after, and which gives it a value if it had none. One that has a value and is long silent is
// ended at once. Not thread-safe.

#include "scheduler/placement.h"

namespace detol::inline scheduler {

class RunRequests {
 public:
  // All outlive this object.
  RunRequests(const DriverParts& parts, const StudyState& state, RunningTrials& running,
              Listeners listeners, Recorder& recorder, Outbox& outbox, Placement& placement)
      : parts_(parts),
        state_(state),
        running_(running),
        budget_(listeners.budget),
        ending_(listeners.ending),
        recorder_(recorder),
        outbox_(outbox),
        placement_(placement) {}

  // Looks for requests, once a second. Once the run is stopping, reminds the workers of it instead.
  Result<void> look();

  // Suspends what runs; it is over soon.
  void stop();

 private:
  Result<void> handle(const RunRequest& request);
  Result<void> prune(const RunRequest& request);
  Result<void> retry(const RunRequest& request);
  Result<void> raise_budget(const RunRequest& request);

  const DriverParts& parts_;
  const StudyState& state_;
  RunningTrials& running_;
  BudgetGuard& budget_;
  Ending& ending_;
  Recorder& recorder_;
  Outbox& outbox_;
  Placement& placement_;
  double looked_s_ = 0;  // for requests, or the last reminder of a stop
};

}  // namespace detol::inline scheduler
