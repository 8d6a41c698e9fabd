#pragma once

// LearningCurves: predicts later values of trials from the curves of all of them (curve_model.h).
// Smaller values are better, and a value may be anything a trainer reports: +infinity and NaN count
// as very bad, and outliers on the bad side are cut to a bad value.
//
// A pure function of its calls. A prediction costs one pass over the trial's own values, and now
// and then, whenever there are 1.3 times as many values as when it last learned, a fit: some
// milliseconds with 30 epochs, up to 20 with many. It learns from the latest kMostCurves curves,
// so 10,000 trials of 30 epochs cost a second in all. Not thread-safe.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "surrogate/curve_model.h"
#include "surrogate/lazy_gp.h"

namespace detol::inline surrogate {

class LearningCurves {
 public:
  static constexpr std::size_t kMostCurves = 1000;
  static constexpr int kMostEpochs = 32;  // points used of a longer curve

  // `epochs` is the length of a full trial.
  explicit LearningCurves(int epochs);

  // Records a trial's value after an epoch from 1 to `epochs`. Epochs left out are interpolated;
  // one that is not later than the last of its trial is ignored.
  void observe(std::uint64_t trial, int epoch, double value);

  // Predicts the measurement after `epoch`, rounded up to the next point used of curves longer than
  // kMostEpochs; returns the value of an epoch that was reported. `variance` includes the noise of
  // the measurement, and is infinite while fewer than four trials got so far.
  Prediction predict(std::uint64_t trial, int epoch);

 private:
  struct Curve {
    int last_epoch = 0;
    double last_value = 0;
    std::vector<double> values;  // at epochs_[0], epochs_[1], ..., as far as the curve goes
  };

  // Units: the scale of the model's values.
  struct Units {
    double centre = 0, scale = 1, highest = 0;
    double to_model(double value) const;
  };

  void learn();
  const std::vector<CurveModel::Forecast>& forecasts(std::size_t target);

  std::vector<double> epochs_;
  std::unordered_map<std::uint64_t, Curve> curves_;
  std::vector<std::uint64_t> order_;  // trials in the order of their first values
  std::size_t values_ = 0, learned_at_ = 0;

  Units units_;
  CurveKernel kernel_;
  std::optional<CurveModel> model_;
  std::vector<std::vector<CurveModel::Forecast>> forecasts_;  // by target; empty: not computed
};

}  // namespace detol::inline surrogate
