// Gain per epoch: a free worker trains what is the likeliest to become the best for its epochs, a
// paused trial or a new one (after Swersky, Snoek and Adams, 2014, "Freeze-Thaw Bayesian
// Optimization", arXiv 1406.3896, with the model of surrogate/learning_curve.h in place of theirs).
//
// Let P be the probability that a trial ends better than the best finished one, given its curve so
// far. A trial that is looked at once more, after a epochs, and then trained for the other b only
// if that pays, is worth the price z of an epoch at which looking just breaks even (the reservation
// price of Weitzman, 1979, "Optimal Search for the Best Alternative", Econometrica 47):
//
//   E[max(0, P' - z b)] = z a,   P': the probability after the look
//
// It lies between P / (a + b), if a look shows nothing, and P / a, if it shows everything. What a
// new trial's first look may show is what those of earlier trials showed.
//
//   After 1 of 9 epochs P is .25, and a look after the second makes it .5 or 0: z solves
//   (.5 - 7 z) / 2 = z, z = .056. Of ten earlier trials one had P = .25 after its first epoch, the
//   others 0: (.25 - 8 z) / 10 = z, z = .014 for a new trial, so the paused one is trained.
//
// A trial is judged after each early report, after min_resource epochs, and whenever its epochs
// have grown by half. It goes on if none that is paused, and no new one, has a greater price; else
// it pauses. Nothing stops for good but NaN. Prices change with each new best value and whenever
// the curves' model is fitted anew; then those of all paused trials are computed again.
//
// With the expected improvement in place of P searches took 1.0 to 2 times as long
// (experiments/scheduler/LOG.md): a normal tail promises improvements beyond what any network
// reaches, and most of them to those of whom least is known.
//
// Until four trials have ended there are no predictions. The first trial, and then the better of
// every two after their first look, are trained to their end; the others pause there. An epoch
// counts as much for every network. Several objectives: the first is judged. Where the best epoch
// of a trial counts, its curve is that of its best value so far (curve.cpp). Price:
// learning_curve.h, and 10 microseconds for each paused trial whenever prices change.

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>
#include <set>
#include <span>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/options.h"
#include "scheduler/pruners/pruners.h"
#include "surrogate/acquisition.h"
#include "surrogate/learning_curve.h"

namespace detol::inline scheduler {
namespace {

constexpr double kGrowth = 1.5;          // of the epochs from one decision to the next
constexpr std::size_t kMostLooks = 500;  // of earlier trials, that stand for a new one's
constexpr std::size_t kForAStarter = 2;  // first looks for each trial that begins the model

// Look: the chance to become the best that a look may show, and how likely it shows that.
struct Look {
  double chance, weight;
};

// Returns the price of an epoch at which a look after `until_look` epochs just breaks even, where
// `after_look` epochs are left then. The weights add up to 1.
double price_of(std::span<const Look> looks, double until_look, double after_look) {
  double whole = 0;
  for (const Look& look : looks) whole += look.weight * look.chance;
  double low = whole / (until_look + after_look), high = whole / until_look;
  for (int halving = 0; halving < 40; ++halving) {
    const double price = (low + high) / 2;
    double gain = -price * until_look;
    for (const Look& look : looks)
      gain += look.weight * std::max(0.0, look.chance - price * after_look);
    (gain > 0 ? low : high) = price;
  }
  return low;
}

// Returns what a look may show, by the trapezoidal rule over the normal distribution.
std::vector<Look> looks_of(const LearningCurves::Outlook& outlook, double best) {
  constexpr double kStep = 0.5, kWidest = 4;
  const double spread =
      std::sqrt(std::max(0.0, outlook.now.variance - outlook.variance_after_look));
  std::vector<Look> looks;
  for (double u = -kWidest; u <= kWidest; u += kStep) {
    const Prediction seen{.mean = outlook.now.mean + u * spread,
                          .variance = outlook.variance_after_look};
    looks.push_back({probability_below(seen, best),
                     kStep * std::exp(-u * u / 2) / std::sqrt(2 * std::numbers::pi)});
  }
  return looks;
}

class Gain final : public Pruner {
 public:
  Gain(const PrunerSettings& settings, int min_resource)
      : direction_(settings.direction),
        length_(settings.max_epochs),
        curves_(settings.max_epochs, settings.early_reports) {
    decisions_.insert(settings.early_reports.begin(), settings.early_reports.end());
    for (int epoch = min_resource; epoch < length_;
         epoch = std::max(epoch + 1, static_cast<int>(std::ceil(kGrowth * epoch))))
      decisions_.insert(epoch);
  }

  Advice judge(TrialId trial, double epochs, double value) override {
    const double loss = loss_of(direction_, value);
    curves_.observe(trial, epochs, loss);
    if (epochs >= length_ && loss < best_) {
      best_ = loss;
      is_stale_ = true;
    }
    if (std::isnan(value)) return Advice::kStop;
    if (!decisions_.contains(epochs)) return Advice::kContinue;
    const bool is_first = judged_.insert(trial).second;
    if (is_first) seen_.push_back(trial);
    const std::optional<double> price = price_after(trial, epochs);
    if (!price && (new_price_ || !is_first)) return Advice::kContinue;
    if (price) update();
    pause(trial, epochs, price.value_or(-loss));
    if (promotion() != trial) return Advice::kPause;
    withdraw(trial);
    return Advice::kContinue;
  }

  double undecided(TrialId, double epochs) override { return next_decision(epochs); }

  std::optional<TrialId> promotion() const override {
    if (by_price_.empty()) return std::nullopt;
    const std::size_t wanted = 1 + (seen_.size() - 1) / kForAStarter;
    const double greatest = -by_price_.begin()->first;
    const bool is_worth_it = new_price_ ? greatest >= *new_price_ : started_ < wanted;
    return is_worth_it ? std::optional(by_price_.begin()->second) : std::nullopt;
  }

  void withdraw(TrialId trial) override {
    const auto found = paused_.find(trial);
    if (found == paused_.end()) return;
    by_price_.erase({-found->second.price, trial});
    paused_.erase(found);
    if (!new_price_) ++started_;
  }

 private:
  struct Paused {
    double epochs, price;  // before there are predictions, minus the loss
  };

  void pause(TrialId trial, double epochs, double price) {
    paused_[trial] = {epochs, price};
    by_price_.emplace(-price, trial);
  }

  // Returns the epochs after which a trial of so many is judged next, or at its end.
  double next_decision(double epochs) const {
    const auto next = decisions_.upper_bound(epochs);
    return next == decisions_.end() ? length_ : *next;
  }

  // Returns a trial's price after so many epochs; nullopt while there are no predictions.
  std::optional<double> price_after(TrialId trial, double epochs) {
    const double look = next_decision(epochs);
    const LearningCurves::Outlook outlook = curves_.outlook(trial, look, length_);
    if (!std::isfinite(outlook.now.variance) || !std::isfinite(best_)) return std::nullopt;
    return price_of(looks_of(outlook, best_), look - epochs, length_ - look);
  }

  // Returns the price of a new trial, whose first look is that of an earlier one.
  double price_of_new() {
    const double look = *decisions_.begin();
    std::vector<Look> looks;
    for (std::size_t i = seen_.size() - std::min(seen_.size(), kMostLooks); i < seen_.size(); ++i) {
      const Prediction end = curves_.predict_from(seen_[i], look, length_);
      looks.push_back({probability_below(end, best_), 0});
    }
    for (Look& one : looks) one.weight = 1 / static_cast<double>(looks.size());
    return price_of(looks, look, length_ - look);
  }

  // Computes the prices of the paused trials and of a new one again, if they may have changed.
  void update() {
    if (!is_stale_ && fits_ == curves_.fits()) return;
    is_stale_ = false;
    new_price_ = price_of_new();
    fits_ = curves_.fits();
    by_price_.clear();
    for (auto& [trial, paused] : paused_) {
      paused.price = price_after(trial, paused.epochs).value_or(0);
      by_price_.emplace(-paused.price, trial);
    }
  }

  const Direction direction_;
  const double length_;
  std::set<double> decisions_;  // epochs after which a trial is judged
  LearningCurves curves_;
  std::vector<TrialId> seen_;                              // in the order of their first decisions
  std::unordered_set<TrialId> judged_;                     // the same
  double best_ = std::numeric_limits<double>::infinity();  // loss of a finished trial
  std::size_t fits_ = 0;                                   // of the model, at the last update
  bool is_stale_ = true;
  std::optional<double> new_price_;  // nullopt while there are no predictions
  std::size_t started_ = 0;          // trials that were resumed before
  std::map<TrialId, Paused> paused_;
  std::set<std::pair<double, TrialId>> by_price_;  // minus the price; of equal ones the first
};

}  // namespace

Result<std::unique_ptr<Pruner>> make_gain(const PrunerSettings& settings) {
  OptionReader options("gain", settings.options);
  const std::int64_t min_resource = options.whole("min_resource", 1, 1, 1'000'000);
  DETOL_TRY(options.done());
  return std::make_unique<Gain>(settings, static_cast<int>(min_resource));
}

}  // namespace detol::inline scheduler
