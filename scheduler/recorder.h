#pragma once

// Recorder: what is told and recorded. The driver writes only through events: they change the
// state, the searcher and the pruner at once, become durable together at commit(), and only then
// leave the process. Should the commit fail, the process ends, or, on a full disk, the same events
// are committed later. Not thread-safe.

#include <string>
#include <utility>

#include "scheduler/budget_guard.h"
#include "scheduler/ending.h"
#include "scheduler/equal_trials.h"
#include "scheduler/outbox.h"
#include "scheduler/proposal_source.h"
#include "scheduler/report_metrics.h"

namespace detol::inline scheduler {

// Listeners hear of every event.
struct Listeners {
  BudgetGuard& budget;
  EqualTrials& equals;
  ProposalSource& source;
  Ending& ending;
};

class Recorder {
 public:
  // All outlive this object.
  Recorder(const DriverParts& parts, StudyState& state, Listeners listeners, Outbox& outbox)
      : parts_(parts),
        state_(state),
        listeners_(listeners),
        outbox_(outbox),
        report_metrics_(parts.config) {}

  // Applies an event to the state, the searcher, the pruner and the target, in the ledger's order.
  Result<void> apply(const Event& event);

  // Applies an event, which becomes durable at the next commit().
  Result<void> record(Event event);

  // Record what became of a trial: complete or stopped for that reason, failed, or to be tried
  // again.
  Result<void> tell(TrialId trial, EndReason reason, double unreported_s = 0);
  Result<void> tell_failed(TrialId trial, Cause cause, std::string reason);
  Result<void> requeue(TrialId trial, RequeueReason reason, double unreported_s = 0);

  // Records the outcome of an earlier trial of this study as this trial's own.
  Result<void> answer(TrialId trial, const TrialRecord& earlier);

  // Records the reports and the outcome of a trial of another study as this trial's own. They cost
  // this study neither work nor time.
  Result<void> take_over(TrialId trial, const KnownTrial& known);

  // Completes a report with the metrics that follow from its network and from earlier reports.
  // `train_s`: wall time of the training so far.
  void complete(event::Reported& report, double train_s);

  // Returns whether the pruner advised to stop the trial of the last report, until that is taken.
  bool advises_to_stop() const { return advice_ != Advice::kContinue; }
  void take_advice() { advice_ = Advice::kContinue; }

  // Makes the events durable, then sends what follows from them. A full disk keeps all for the next
  // call.
  Result<void> commit();

 private:
  void inform(const event::Reported& reported);
  void inform(const event::Told& told);

  const DriverParts& parts_;
  StudyState& state_;
  const Listeners listeners_;
  Outbox& outbox_;
  ReportMetrics report_metrics_;
  Advice advice_ = Advice::kContinue;  // the pruner's, after the last report
};

}  // namespace detol::inline scheduler
