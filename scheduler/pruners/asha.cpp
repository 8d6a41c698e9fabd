// Asynchronous successive halving with promotion (Li et al., 2020, "A System for Massively
// Parallel Hyperparameter Tuning", MLSys, arXiv 1810.05934, algorithm 2).
//
// Rungs stand at the early reports inside the first epoch, if the study has any, and at
// min_resource * reduction_factor^k epochs, below the full length, which is the top. A trial that
// reaches a rung leaves its value there and pauses. A worker that becomes free looks from the
// highest rung down for a trial to promote:
//
//   among the best floor(n / reduction_factor) of the n values of a rung,
//   the best whose trial was not promoted from it yet
//
// and trains it from its checkpoint to the next rung; where no rung has one, it begins a new trial.
// No worker waits for a full rung. A trial that its own worker would resume next goes on without a
// pause.
//
//   reduction_factor 3, one worker; trials 0, 1, ... leave 5, 4, 4.5, 7, 3, 3.5 at the lowest rung.
//   After the third value one of three may be promoted: trial 1 (4). After the fifth, one of five:
//   this is trial 4 (3) now, so it goes on. After the sixth, two of six: 4 and 5 (3.5), of which 4
//   went on already; trial 5 does, too.
//
// The paper leaves these questions open; this is how they are answered here:
// - With several workers a rung holds what was reported so far, and a promotion is decided
//   when a worker becomes free, or would become so, never earlier. Two runs may thus promote in different orders;
//   the same order of events promotes the same trials, and one worker follows the sequential
//   algorithm.
// - Of equal values, the one with the smaller trial number is the better. With several objectives
//   rung.h says which trials are the best.
// - NaN is the worst value of its rung and is never promoted. A trial that failed, or was not
//   trained because its result was known, left no value and does not count.
// - The trial's own recipe may be shorter than the full length: it is complete then, keeps its
//   place in the rungs it has passed, and is not promoted.
//
// Price: a study of fewer than reduction_factor^(rungs) trials brings none to its full length,
// and paused trials hold disk space (see checkpoint_retention.h). Per report O(log n).

#include "scheduler/pruners/halving.h"
#include "scheduler/pruners/pruners.h"

namespace detol::inline scheduler {
namespace {

class Asha final : public Pruner {
 public:
  explicit Asha(Halving halving) : halving_(std::move(halving)) {}

  Advice judge(TrialId trial, double epochs, double value) override {
    return halving_.judge(trial, epochs, {&value, 1});
  }
  Advice judge_all(TrialId trial, double epochs, std::span<const double> values) override {
    return halving_.judge(trial, epochs, values);
  }
  double undecided(TrialId, double epochs) override { return halving_.undecided(epochs); }
  std::optional<TrialId> promotion() const override { return halving_.promotion(); }
  void withdraw(TrialId trial) override { halving_.withdraw(trial); }

 private:
  Halving halving_;
};

}  // namespace

Result<std::unique_ptr<Pruner>> make_asha(const PrunerSettings& settings) {
  DETOL_ASSIGN(const HalvingRule rule, halving_rule("asha", settings));
  return std::make_unique<Asha>(Halving(settings, rule.rungs, rule.reduction_factor));
}

}  // namespace detol::inline scheduler
