#pragma once

// LearningCurves: predicts later values of trials from the curves of all of them (curve_model.h).
// Smaller values are better, and a value may be anything a trainer reports: +infinity and NaN count
// as very bad, and outliers on the bad side are cut to a bad value.
//
// A pure function of its calls. A prediction costs one pass over the trial's own values, and now
// and then, whenever there are 1.3 times as many values as when it last learned, a fit: some
// milliseconds with 30 epochs, up to 20 with many. It learns from the latest kMostCurves curves
// and as many of full length, so 10,000 trials of 30 epochs cost a second in all. Not thread-safe.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "surrogate/curve_model.h"
#include "surrogate/lazy_gp.h"

namespace detol::inline surrogate {

class LearningCurves {
 public:
  static constexpr std::size_t kMostCurves = 1000;
  static constexpr int kMostEpochs = 32;  // points used of a longer curve

  // `epochs` is the length of a full trial, `early` the parts of the first epoch after which trials
  // report, ascending.
  explicit LearningCurves(int epochs, std::span<const double> early = {});

  // Records a trial's value after some epochs, at most `epochs`. Those left out are interpolated;
  // a value that is not later than the last of its trial is ignored.
  void observe(std::uint64_t trial, double epoch, double value);

  // Predicts the measurement after `epoch`, rounded up to the next point used of curves longer than
  // kMostEpochs; returns the value of an epoch that was reported. `variance` includes the noise of
  // the measurement, and is infinite while fewer than four trials got so far.
  Prediction predict(std::uint64_t trial, double epoch);

  // Predicts it from what the trial had reported after `known` epochs.
  Prediction predict_from(std::uint64_t trial, double known, double epoch);

  // Outlook: the prediction of a measurement, and the variance that is expected to be left of it
  // once another, earlier epoch is known.
  struct Outlook {
    Prediction now;
    double variance_after_look = 0;
  };

  // Returns the outlook on the measurement after `epoch`, with a look after the epoch `look`.
  // REQUIRES: look <= epoch; `epoch` was not reported.
  Outlook outlook(std::uint64_t trial, double look, double epoch);

  // Returns how often it has learned: predictions of trials with the same values are the same until
  // this changes.
  std::size_t fits() const { return fits_; }

 private:
  struct Curve {
    double last_epoch = 0;
    double last_value = 0;
    std::vector<double> values;  // at epochs_[0], epochs_[1], ..., as far as the curve goes
  };

  // Units: the scale of the model's values.
  struct Units {
    double centre = 0, scale = 1, highest = 0;
    double to_model(double value) const;
  };

  std::size_t index_of(double epoch) const;
  std::span<const double> values_of(std::uint64_t trial) const;
  Prediction predict_from(std::span<const double> values, std::size_t target);
  std::vector<std::uint64_t> learned_from() const;
  void learn();
  const std::vector<CurveModel::Forecast>& forecasts(std::size_t target);

  std::vector<double> epochs_;
  std::unordered_map<std::uint64_t, Curve> curves_;
  std::vector<std::uint64_t> order_;  // trials in the order of their first values
  std::size_t values_ = 0, learned_at_ = 0, fits_ = 0;

  Units units_;
  CurveKernel kernel_;
  std::optional<CurveModel> model_;
  std::vector<std::vector<CurveModel::Forecast>> forecasts_;  // by target; empty: not computed
};

}  // namespace detol::inline surrogate
