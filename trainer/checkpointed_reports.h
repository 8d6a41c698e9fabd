#pragma once

// CheckpointedReports: the checkpoints and reports of a training, on the leader of its group. A
// report is sent only once a checkpoint that covers it is durable. Where epochs are short, and
// nobody decides about the trial after them (Control::undecided), several share a checkpoint: it is
// written before kGroupS seconds of training would be lost with the process. Private to this
// folder.

#include <optional>

#include "trainer/agreement.h"
#include "trainer/checkpoint.h"
#include "trainer/reports/epoch_ranking.h"
#include "trainer/training_context.h"

namespace detol::inline trainer {

class CheckpointedReports {
 public:
  // All arguments outlive this object. `checkpoint` is the training so far, with the state of the
  // last file; the training updates all of it but the state and the best weights.
  CheckpointedReports(const TrainingContext& context, const Reporter& report,
                      Checkpoint& checkpoint);

  // Marks the newest report of the history as the best so far, or not.
  void rank_newest();

  // These return how the evaluation ends, if it does.
  EarlyOutcome tell_history();   // the reports that the master has not acknowledged
  EarlyOutcome keep_report();    // sends the newest report after its checkpoint, or lets it wait
  EarlyOutcome keep_position();  // writes a checkpoint from which a later attempt resumes

  // Sends what waits of a training that has failed: it has no more checkpoint, and an attempt that
  // repeats its end begins at the last one.
  void tell_before_failure();

 private:
  bool may_wait();
  Result<void> write();
  std::optional<Evaluation> tell_waiting();

  const Job& job_;
  Executable& executable_;
  Control& control_;
  const std::optional<EpochRanking>& ranking_;
  const Reporter& report_;
  Checkpoint& checkpoint_;
  const bool is_alone_;       // in its group
  std::size_t told_ = 0;      // reports of the history
  double written_s_ = 0;      // when the last checkpoint was written, or the training began
  double last_report_s_ = 0;  // when the epoch before this one ended
};

// Returns the outcome of a training that ends now and resumes later.
inline Evaluation suspended() {
  return {.end = Evaluation::End::kSuspended, .reason = {}};
}

}  // namespace detol::inline trainer
