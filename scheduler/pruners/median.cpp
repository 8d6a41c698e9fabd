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
// Vizier compares with completed trials only. Here every trial that reached epoch s counts,
// running and stopped ones too: with one or two dozen trials there are too few others.
//
// Price per report: a binary search and one insertion into a sorted array.

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <vector>

#include "core/options.h"
#include "scheduler/pruners/pruners.h"

namespace detol::inline scheduler {
namespace {

constexpr double kWorst = std::numeric_limits<double>::infinity();

struct MedianRule {
  std::int64_t warmup_trials;  // other trials needed at an epoch before a trial stops there
  std::int64_t warmup_epochs;  // first epochs, in which no trial stops
};

struct Curve {
  double sum = 0;
  int reports = 0;
  double best = kWorst;
};

class Median final : public Pruner {
 public:
  Median(const PrunerSettings& settings, MedianRule rule)
      : direction_(settings.direction), max_epochs_(settings.max_epochs), rule_(rule) {}

  Advice judge(TrialId trial, double epochs, double value) override {
    const double loss = loss_of(direction_, value);
    Curve& curve = curves_[trial];
    curve.sum += loss;
    curve.reports += 1;
    curve.best = std::min(curve.best, loss);
    std::vector<double>& others = means_[epochs];
    const bool is_worse = can_judge(epochs, others) && curve.best > median_of(others);
    const double mean = curve.sum / curve.reports;
    const double recorded = mean == mean ? mean : kWorst;  // NaN from inf - inf
    others.insert(std::ranges::upper_bound(others, recorded), recorded);
    return is_worse || value != value ? Advice::kStop : Advice::kContinue;
  }

 private:
  bool can_judge(double epochs, const std::vector<double>& others) const {
    return epochs > static_cast<double>(rule_.warmup_epochs) && epochs < max_epochs_ &&
           !others.empty() && static_cast<std::int64_t>(others.size()) >= rule_.warmup_trials;
  }

  // Returns the median; of an even number of values, the worse of the two in the middle.
  static double median_of(const std::vector<double>& sorted) { return sorted[sorted.size() / 2]; }

  const Direction direction_;
  const int max_epochs_;
  const MedianRule rule_;
  std::unordered_map<TrialId, Curve> curves_;
  std::unordered_map<double, std::vector<double>> means_;  // by epochs: sorted, one per trial
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
