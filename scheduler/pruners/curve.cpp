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
// With several objectives the rule counts the finished trials that would dominate it at its end
// with a probability above 1 - `probability`, the objectives taken as independent; where they are
// more than the share `top`, the trial stops. Of one objective this is the same. What a network
// costs does not change with the epochs, and is compared as it is.
//
// Where the best epoch of a trial counts, its curve is that of its best value so far: that is what
// ends at the trial's value, and what the finished trials, whose best values set the bar, are
// compared by. A curve of single epochs would end lower, by the noise of the last one.
//
// A trial with the best value of its epoch so far (that none dominates) is never stopped, whatever
// the model predicts. Trials whose own recipe is shorter than the full length are judged, but set
// no bar. Price: learning_curve.h.

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "core/options.h"
#include "scheduler/pruners/pruners.h"
#include "surrogate/acquisition.h"
#include "surrogate/learning_curve.h"
#include "surrogate/pareto.h"

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
  CurvePruner(PrunerSettings settings, CurveRule rule)
      : settings_(std::move(settings)),
        rule_(rule),
        curves_(settings_.others.size() + 1, LearningCurves(settings_.max_epochs)) {}

  Advice judge(TrialId trial, double epochs, double value) override {
    return judge_all(trial, epochs, {&value, 1});
  }

  Advice judge_all(TrialId trial, double epochs, std::span<const double> values) override {
    const int epoch = static_cast<int>(epochs);
    const bool is_number = !std::isnan(values.front());
    if (epoch != epochs)  // a curve is of whole epochs
      return is_number ? Advice::kContinue : Advice::kStop;
    const Losses losses = losses_of(settings_, values);
    for (std::size_t i = 0; i < losses.size(); ++i) {
      if (!is_fixed(i)) curves_[i].observe(trial, epoch, losses[i]);
    }
    const bool is_best = is_nondominated(best_[epoch], losses);
    if (epoch == settings_.max_epochs) finals_.push_back(losses);
    if (!is_number) return Advice::kStop;
    if (is_best || !can_judge(epoch)) return Advice::kContinue;
    return will_be_beaten(trial, losses) ? Advice::kStop : Advice::kContinue;
  }

 private:
  bool is_fixed(std::size_t objective) const {
    return objective < settings_.fixed.size() && settings_.fixed[objective];
  }

  // Returns whether no point of the front dominates these losses; if so, adds them to it.
  static bool is_nondominated(std::vector<Losses>& front, const Losses& losses) {
    const auto beats = [&](const Losses& one) { return dominates(one, losses); };
    if (std::ranges::any_of(front, beats)) return false;
    std::erase_if(front, [&](const Losses& one) { return covers(losses, one); });
    front.push_back(losses);
    return true;
  }

  bool can_judge(int epoch) const {
    return epoch >= rule_.min_resource && epoch < settings_.max_epochs && !finals_.empty() &&
           static_cast<std::int64_t>(finals_.size()) >= rule_.startup;
  }

  // Returns whether more finished trials than the best share will hardly be worse than this one.
  bool will_be_beaten(TrialId trial, const Losses& losses) {
    std::vector<Prediction> ends(losses.size());
    for (std::size_t i = 0; i < losses.size(); ++i) {
      if (!is_fixed(i)) ends[i] = curves_[i].predict(trial, settings_.max_epochs);
    }
    const auto will_beat_it = [&](const Losses& finished) {
      double all_worse = 1;  // the probability that the trial ends worse in every objective
      for (std::size_t i = 0; i < losses.size(); ++i) {
        const double better = is_fixed(i) ? (losses[i] < finished[i] ? 1 : 0)
                                          : probability_below(ends[i], finished[i]);
        all_worse *= 1 - better;
      }
      return 1 - all_worse < rule_.probability;
    };
    const auto beaten_by = std::ranges::count_if(finals_, will_beat_it);
    const auto finished = static_cast<double>(finals_.size());
    return static_cast<double>(beaten_by) >
           std::min(finished - 1, std::floor(rule_.top * finished));
  }

  const PrunerSettings settings_;
  const CurveRule rule_;
  std::vector<LearningCurves> curves_;       // by objective
  std::map<int, std::vector<Losses>> best_;  // the front by epoch
  std::vector<Losses> finals_;               // of trials of full length
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
