// The median rule (Golovin et al., 2017, "Google Vizier: A Service for Black-Box
// Optimization", KDD, section 3.2.2).
//
// After epoch s a trial stops if the best value it ever reported is strictly worse than the median
// of the other trials' running means over their epochs 1..s. A mean lags behind a curve that
// improves, so the rule tolerates one bad epoch and stops only trials that are clearly worse.
//
//   minimise, epoch 2; the others' (epoch 1, epoch 2): (4, 2) (6, 4) (9, 3) -> means 3 5 6,
//   median 5: a trial with (8, 5.5) stops, one with (8, 5) continues.
//
// With several objectives a trial stops if more than half of the others dominate it: if their means
// are nowhere worse than its best values, and somewhere better. Of one objective this is the same.
//
// Vizier compares with completed trials only. Here every trial that reached epoch s counts,
// running and stopped ones too: with one or two dozen trials there are too few others.
//
// Price per report: a binary search and one insertion into a sorted array; with several objectives
// a comparison with every trial that reached the epoch.

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>
#include <vector>

#include "core/options.h"
#include "scheduler/pruners/pruners.h"
#include "surrogate/pareto.h"

namespace detol::inline scheduler {
namespace {

constexpr double kWorst = std::numeric_limits<double>::infinity();

struct MedianRule {
  std::int64_t warmup_trials;  // other trials needed at an epoch before a trial stops there
  std::int64_t warmup_epochs;  // first epochs, in which no trial stops
};

// Curve is what a trial has reported, one number per objective.
struct Curve {
  Losses sum, best;
  int reports = 0;
};

// Others holds the running means of the trials that reached one epoch.
class Others {
 public:
  std::size_t size() const { return means_.size(); }

  // Returns whether more than half of the means dominate these losses. REQUIRES: size() > 0.
  bool mostly_dominate(const Losses& losses) const {
    const std::size_t half = means_.size() / 2;
    if (losses.size() == 1) return losses.front() > means_[half].front();
    const auto count =
        std::ranges::count_if(means_, [&](const Losses& mean) { return dominates(mean, losses); });
    return static_cast<std::size_t>(count) > half;
  }

  void add(Losses mean) { means_.insert(std::ranges::upper_bound(means_, mean), std::move(mean)); }

 private:
  std::vector<Losses> means_;  // sorted, so that of one objective the median is in the middle
};

class Median final : public Pruner {
 public:
  Median(PrunerSettings settings, MedianRule rule) : settings_(std::move(settings)), rule_(rule) {}

  Advice judge(TrialId trial, double epochs, double value) override {
    return judge_all(trial, epochs, {&value, 1});
  }

  Advice judge_all(TrialId trial, double epochs, std::span<const double> values) override {
    const Losses losses = losses_of(settings_, values);
    Curve& curve =
        curves_.try_emplace(trial, Curve{Losses(losses.size(), 0), losses}).first->second;
    curve.reports += 1;
    Losses mean;
    for (std::size_t i = 0; i < losses.size(); ++i) {
      curve.sum[i] += losses[i];
      curve.best[i] = std::min(curve.best[i], losses[i]);
      mean.push_back(curve.sum[i] / curve.reports);
      if (std::isnan(mean[i])) mean[i] = kWorst;  // inf - inf
    }
    Others& others = others_[epochs];
    const bool is_worse = can_judge(epochs, others) && others.mostly_dominate(curve.best);
    others.add(std::move(mean));
    return is_worse || std::isnan(values.front()) ? Advice::kStop : Advice::kContinue;
  }

 private:
  bool can_judge(double epochs, const Others& others) const {
    return epochs > static_cast<double>(rule_.warmup_epochs) && epochs < settings_.max_epochs &&
           others.size() > 0 && static_cast<std::int64_t>(others.size()) >= rule_.warmup_trials;
  }

  const PrunerSettings settings_;
  const MedianRule rule_;
  std::unordered_map<TrialId, Curve> curves_;
  std::unordered_map<double, Others> others_;  // by epochs
};

}  // namespace

Result<std::unique_ptr<Pruner>> make_median(const PrunerSettings& settings) {
  OptionReader options("median", settings.options);
  const MedianRule rule{.warmup_trials = options.whole("warmup_trials", 5, 0, 1'000'000),
                        .warmup_epochs = options.whole("warmup_epochs", 1, 0, 1'000'000)};
  DETOL_TRY(options.done());
  return std::make_unique<Median>(settings, rule);
}

}  // namespace detol::inline scheduler
