// Asynchronous Hyperband: brackets of successive halving that begin with rungs of different length,
// as it is unknown how early a trial can be judged (Li et al., 2018, "Hyperband", JMLR 18, arXiv
// 1603.06560; asynchronous: Li et al., 2020, arXiv 1810.05934). Each bracket is what asha.cpp
// describes. With a searcher that learns, `tpe` or `gp`, this is BOHB (Falkner et al., 2018, arXiv
// 1807.01774).
//
// Bracket k has all rungs but the lowest k; the last one has none and trains to the full length. Of
// K + 1 brackets, bracket k takes the share of the trials that Hyperband gives it, so that all cost
// about the same:
//
//   n_k = reduction_factor^(K - k) (K + 1) / (K - k + 1)
//
//   rungs at 1 and 3 epochs, reduction_factor 3: shares of 9, 4.5 and 3. Trials 0, 1, 2, ... go to
//   brackets 0, 1, 0, 2, 0, 0, 1, 0, ...
//
// A trial's bracket follows from its number alone: it goes where most is missing of the shares.
// Promotions of the bracket with the most trials come first.
//
// Price: as asha's; a third to a half of the trials begin in brackets that stop later.

#include <algorithm>
#include <cmath>

#include "scheduler/pruners/halving.h"
#include "scheduler/pruners/pruners.h"

namespace detol::inline scheduler {
namespace {

class Hyperband final : public Pruner {
 public:
  Hyperband(const PrunerSettings& settings, std::span<const double> rungs,
            std::int64_t reduction_factor) {
    const auto last = static_cast<double>(rungs.size());
    double sum = 0;
    for (std::size_t k = 0; k <= rungs.size(); ++k) {
      const double left = last - static_cast<double>(k);
      brackets_.emplace_back(settings, rungs.subspan(k), reduction_factor);
      shares_.push_back(std::pow(static_cast<double>(reduction_factor), left) * (last + 1) /
                        (left + 1));
      sum += shares_.back();
    }
    for (double& share : shares_) share /= sum;
    missing_.resize(shares_.size());
  }

  Advice judge(TrialId trial, double epochs, double value) override {
    return judge_all(trial, epochs, {&value, 1});
  }
  Advice judge_all(TrialId trial, double epochs, std::span<const double> values) override {
    return brackets_[bracket_of(trial)].judge(trial, epochs, values);
  }

  double undecided(TrialId trial, double epochs) override {
    return brackets_[bracket_of(trial)].undecided(epochs);
  }

  std::optional<TrialId> promotion() const override {
    for (const Halving& bracket : brackets_) {
      if (const auto trial = bracket.promotion()) return trial;
    }
    return std::nullopt;
  }

  void withdraw(TrialId trial) override { brackets_[bracket_of(trial)].withdraw(trial); }

 private:
  std::size_t bracket_of(TrialId trial) {
    while (bracket_of_.size() <= trial) {
      for (std::size_t k = 0; k < shares_.size(); ++k) missing_[k] += shares_[k];
      const auto most = std::ranges::max_element(missing_);
      *most -= 1;
      bracket_of_.push_back(static_cast<std::uint8_t>(most - missing_.begin()));
    }
    return bracket_of_[trial];
  }

  std::vector<Halving> brackets_;
  std::vector<double> shares_;            // of the trials, by bracket
  std::vector<double> missing_;           // trials, by bracket, after those of bracket_of_
  std::vector<std::uint8_t> bracket_of_;  // by trial
};

}  // namespace

Result<std::unique_ptr<Pruner>> make_hyperband(const PrunerSettings& settings) {
  DETOL_ASSIGN(const HalvingRule rule, halving_rule("hyperband", settings));
  return std::make_unique<Hyperband>(settings, rule.rungs, rule.reduction_factor);
}

}  // namespace detol::inline scheduler
