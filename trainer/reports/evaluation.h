#pragma once

// What an evaluation of a candidate says: reports with metrics, to which verdicts answer, and how
// it ended. Plain values.

#include <cstdint>
#include <string>
#include <vector>

#include "encodings/space/trial.h"

namespace detol::inline trainer {

struct Metric {
  std::string name;  // val_accuracy, val_loss, train_loss, ...
  double value = 0;
};

// EpochReport holds the metrics of one epoch, or of a part of the first. Epochs count from 1; work
// is cumulative over the trial.
struct EpochReport {
  int epoch = 0;    // finished
  double part = 0;  // of the next epoch, which is trained that far: Recipe::early_reports
  std::vector<Metric> metrics;
  double work = 0;        // forward FLOPs x images trained, since the trial's start
  double train_s = 0;     // measured seconds since the last report, validation too; never compared
  std::int64_t step = 0;  // optimiser steps since the trial's start; 0: none are counted
  // Whether the trial's value and weights are of this report from now on: it is the best so far
  // (EpochRanking), or the last one counts.
  bool is_best = true;
  bool is_last = false;  // a program ended with it: the trial is complete, however long others are

  double epochs() const { return epoch + part; }
};

// Verdict decides about the trial after a reported epoch.
enum class Verdict {
  kContinue,  // train the next epoch
  kStop,      // finished: pruned, out of budget, or complete
  kSuspend,   // the process must end now; the trial resumes later from its checkpoint
};

// Evaluation is the way in which an evaluation ended.
struct Evaluation {
  enum class End { kFinished, kSuspended, kFailed } end = End::kFinished;
  Cause cause = Cause::kDiverged;  // kFailed
  std::string reason;              // kFailed: one line
  double unreported_s = 0;  // kSuspended, on the leader: seconds spent on the epoch that has begun
};

}  // namespace detol::inline trainer
