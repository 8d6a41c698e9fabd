#pragma once

// Driver: the main loop of a search. It asks the searcher for candidates, refuses them or reuses a
// known outcome where no training is needed, places the rest on free workers, resumes trials that
// the pruner promotes, and turns the workers' reports into events. It sends no answer before these
// events are durable.
//
// It uses the outside world only through its parts (ledger, pool, clock), so the same code runs a
// study on processes and in a test's virtual time. Not thread-safe. Its destructor waits until a
// running fit of the searcher's model ends.

#include <span>
#include <string>
#include <vector>

#include "scheduler/budget_guard.h"
#include "scheduler/driver_parts.h"
#include "scheduler/ending.h"
#include "scheduler/equal_trials.h"
#include "scheduler/evaluations.h"
#include "scheduler/outbox.h"
#include "scheduler/placement.h"
#include "scheduler/proposal_source.h"
#include "scheduler/recorder.h"
#include "scheduler/run_requests.h"
#include "scheduler/running_trials.h"
#include "scheduler/study_state.h"

namespace detol::inline scheduler {

class Driver {
 public:
  explicit Driver(DriverParts parts);
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  // Rebuilds the state from a ledger's events; recomputes no proposal. Called before run().
  Result<void> replay(std::span<const Event> events);

  // Runs the study to its end. Returns a sentence that says why it ended. Errors: kInterrupted
  // (stopped on request, resumable), kFailures (too many trials failed, or all), kStorage.
  Result<std::string> run();

  // The same in steps, for a caller that decides itself when the run ends: begin(), turn() again
  // and again, each of which waits for the pool, and finish(). stop() starts no more trials and
  // suspends those of this run, so that is_over() soon.
  Result<void> begin();
  Result<void> turn(double at_most_s = 1);
  void stop() { requests_.stop(); }
  bool is_over() const { return ending_.is_over(); }
  Result<std::string> finish();

  // Returns the seconds after which a turn is due, whatever the pool has.
  double longest_wait_s() const;

  // Supply says what somebody who asks for a trial may expect.
  enum class Supply {
    kComing,  // one soon
    kLater,   // one once outcomes of running trials are told
    kNone,    // no more in this run: why_none()
  };
  Supply supply() const;
  std::string why_none() const { return ending_.why_none(); }

  const StudyState& state() const { return state_; }

 private:
  Listeners listeners() { return {budget_, equals_, source_, ending_}; }
  Result<void> adopt();
  Result<void> absorb(const std::vector<PoolEvent>& events);

  // Each uses those above it.
  DriverParts parts_;
  StudyState state_;
  Outbox outbox_;
  RunningTrials running_;
  BudgetGuard budget_;
  EqualTrials equals_;
  ProposalSource source_;
  Ending ending_;
  Recorder recorder_;
  Placement placement_;
  Evaluations evaluations_;
  RunRequests requests_;
};

}  // namespace detol::inline scheduler
