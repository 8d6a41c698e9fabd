// Learning-curve extrapolation (after Domhan, Springenberg and Hutter, 2015, "Speeding up Automatic
// Hyperparameter Optimization of Deep Neural Networks by Extrapolation of Learning Curves", IJCAI,
// whose rule is this one, with the model of surrogate/learning_curve.h in place of theirs).
//
// A trial stops as soon as the probability that it would end better than the bar is below
// `probability`. The bar is the best final value among the finished trials that are not in the best
// share `top` of them:
//
//   top 0.1; finished trials ended at 0.10, 0.12, 0.15, ... (12 of them): the bar is 0.12.
//   After 4 epochs a trial is expected to end at 0.20 with deviation 0.04. That it ends below 0.12
//   has probability 0.023: it stops. With deviation 0.06 it would be 0.09: it continues.
//
// The bar is not the best value, because that is a lucky measurement, which trials as good would
// not beat, and because a searcher learns from several good final values. With few finished trials
// the bar is the best value. The searcher is told the last values of the stopped trials.
//
// A trial with the best value of its epoch so far is never stopped, whatever the model predicts.
// Trials whose own recipe is shorter than the full length are judged, but set no bar. Price:
// learning_curve.h.

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>
#include <vector>

#include "core/options.h"
#include "scheduler/pruners/pruners.h"
#include "surrogate/learning_curve.h"

namespace detol::inline scheduler {
namespace {

struct CurveRule {
  double probability;         // below it a trial stops
  double top;                 // share of the finished trials that counts as best
  std::int64_t min_resource;  // epochs before which no trial stops
  std::int64_t startup;       // finished trials needed before one stops
};

class CurvePruner final : public Pruner {
 public:
  CurvePruner(const PrunerSettings& settings, CurveRule rule)
      : direction_(settings.direction),
        max_epochs_(settings.max_epochs),
        rule_(rule),
        curves_(settings.max_epochs) {}

  Advice judge(TrialId trial, double epochs, double value) override {
    const int epoch = static_cast<int>(epochs);
    if (epoch != epochs)  // a curve is of whole epochs
      return value != value ? Advice::kStop : Advice::kContinue;
    const double loss = loss_of(direction_, value);
    curves_.observe(trial, epoch, loss);
    const auto best = best_.try_emplace(epoch, loss).first;
    const bool is_best = loss <= best->second;
    best->second = std::min(best->second, loss);
    if (epoch == max_epochs_) finals_.insert(std::ranges::upper_bound(finals_, loss), loss);
    if (value != value) return Advice::kStop;
    if (is_best || !can_judge(epoch)) return Advice::kContinue;
    return chance(trial) < rule_.probability ? Advice::kStop : Advice::kContinue;
  }

 private:
  bool can_judge(int epoch) const {
    return epoch >= rule_.min_resource && epoch < max_epochs_ && !finals_.empty() &&
           static_cast<std::int64_t>(finals_.size()) >= rule_.startup;
  }

  // Returns the probability that the trial's last epoch is better than the bar.
  double chance(TrialId trial) {
    const Prediction last = curves_.predict(trial, max_epochs_);
    return 0.5 * std::erfc((last.mean - bar()) / std::sqrt(2 * last.variance));
  }

  double bar() const {
    const auto others = rule_.top * static_cast<double>(finals_.size());
    return finals_[std::min(finals_.size() - 1, static_cast<std::size_t>(others))];
  }

  const Direction direction_;
  const int max_epochs_;
  const CurveRule rule_;
  LearningCurves curves_;
  std::map<int, double> best_;  // loss, by epoch
  std::vector<double> finals_;  // sorted
};

}  // namespace

Result<std::unique_ptr<Pruner>> make_curve(const PrunerSettings& settings) {
  OptionReader options("curve", settings.options);
  const CurveRule rule{.probability = options.real("probability", 0.05, 0, 1),
                       .top = options.real("top", 0.1, 0, 1),
                       .min_resource = options.whole("min_resource", 3, 1, 1'000'000),
                       .startup = options.whole("startup", 6, 1, 1'000'000)};
  DETOL_TRY(options.done());
  return std::make_unique<CurvePruner>(settings, rule);
}

}  // namespace detol::inline scheduler
