// Asynchronous successive halving in its stopping form (Li et al., 2020, "A System for
// Massively Parallel Hyperparameter Tuning", MLSys, arXiv 1810.05934, algorithm 2).
//
// Rungs stand at min_resource * reduction_factor^k epochs, below the full length. A trial
// that reaches a rung leaves its value there and goes on only if it is among the best
// 1/reduction_factor of the values left there so far, its own included:
//
//   it goes on  <=>  fewer than max(1, floor(n / reduction_factor)) of the n values are better
//
// With reduction_factor 3 and losses arriving at a rung as 5, 4, 4.5, 7, 3, 3.5: go, go, stop,
// stop, go, go (the sixth has one better value, and two of six may go on). A tie goes on.
//
// The algorithm of the paper pauses trials and promotes them later, so a rung with fewer
// than reduction_factor values promotes nobody. A rule that must decide at once cannot wait:
// max(1, .) lets an early arrival go on if it is the best so far, as Optuna's
// SuccessiveHalvingPruner does (Akiba et al., 2019, arXiv 1907.10902). The first trial is thus
// trained to the end, and a study of twenty trials already has a full-length result.
//
// Price per report: a binary search and one insertion into a sorted array, on rungs only.

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "core/options.h"
#include "scheduler/pruners/pruners.h"

namespace detol {
namespace {

class Asha final : public Pruner {
 public:
  Asha(const PrunerSettings& settings, std::int64_t min_resource, std::int64_t reduction_factor)
      : direction_(settings.direction), reduction_factor_(reduction_factor) {
    for (std::int64_t epoch = min_resource; epoch < settings.max_epochs; epoch *= reduction_factor)
      rungs_[epoch];
  }

  Advice judge(TrialId, int epoch, double value) override {
    const auto rung = rungs_.find(epoch);
    if (rung == rungs_.end()) return value != value ? Advice::kStop : Advice::kGoOn;
    std::vector<double>& losses = rung->second;
    const double loss = loss_of(direction_, value);
    const auto better = std::ranges::lower_bound(losses, loss) - losses.begin();
    losses.insert(losses.begin() + better, loss);
    const auto n = static_cast<std::int64_t>(losses.size());
    const bool stops = value != value || better >= std::max<std::int64_t>(1, n / reduction_factor_);
    return stops ? Advice::kStop : Advice::kGoOn;
  }

 private:
  const Direction direction_;
  const std::int64_t reduction_factor_;
  std::map<std::int64_t, std::vector<double>> rungs_;  // by epoch: sorted losses, one per trial
};

}  // namespace

Result<std::unique_ptr<Pruner>> make_asha(const PrunerSettings& settings) {
  OptionReader options("asha", settings.options);
  const std::int64_t min_resource = options.whole("min_resource", 1, 1, 1'000'000);
  const std::int64_t reduction_factor = options.whole("reduction_factor", 3, 2, 1'000);
  DETOL_TRY(options.done());
  return std::make_unique<Asha>(settings, min_resource, reduction_factor);
}

}  // namespace detol
