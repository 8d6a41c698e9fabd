#pragma once

// CheckpointedReports: the checkpoints and reports of a training, on the leader of its group. A
// report is sent only once a checkpoint that covers it is durable. Private to this folder.

#include <optional>

#include "trainer/agreement.h"
#include "trainer/checkpoint.h"
#include "trainer/epoch_ranking.h"
#include "trainer/train.h"

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
  EarlyOutcome keep_report();    // writes a checkpoint, and sends the newest report
  EarlyOutcome keep_position();  // writes one from which a later attempt resumes

 private:
  Result<void> write();
  std::optional<Evaluation> tell(const EpochReport& epoch) const;

  const Job& job_;
  Executable& executable_;
  Control& control_;
  const std::optional<EpochRanking>& ranking_;
  const Reporter& report_;
  Checkpoint& checkpoint_;
};

// Returns the outcome of a training that ends now and resumes later.
inline Evaluation suspended() {
  return {.end = Evaluation::End::kSuspended, .reason = {}};
}

}  // namespace detol::inline trainer
