#pragma once

// Confidence intervals of a metric over N images, with a confidence of 95 %: what the metric of
// infinitely many images of the same kind may be. They say nothing of how the weights were chosen.
//
//   of a share of right answers: Wilson's score interval (Wilson, 1927, J. Am. Stat. Assoc. 22),
//     (p + z^2 / 2N +- z sqrt(p (1 - p) / N + z^2 / 4N^2)) / (1 + z^2 / N),  z = 1.96,
//     which stays within 0 and 1 and is no point where all answers are right
//   of any other metric: the percentile bootstrap (Efron, 1979, Ann. Stat. 7): the 2.5 % and 97.5 %
//     quantiles of the metric of resamples, each of N images drawn with replacement

#include <cstdint>
#include <span>
#include <vector>

namespace detol::inline trainer {

struct ConfidenceInterval {
  double low = 0, high = 0;
};

// REQUIRES: 0 <= share <= 1, count > 0.
ConfidenceInterval wilson_interval(double share, std::int64_t count);

// Returns the interval between the quantiles, which are linear between neighbours in order. What is
// NaN is left out; NaN if all are.
ConfidenceInterval percentile_interval(std::vector<double> of_resamples);

// Draws resample `number` of as many images as `times` has: times[i] becomes how often image i is
// in it. Equal numbers give equal resamples, in every process. REQUIRES: 0 < times.size().
void draw_resample(std::uint64_t number, std::span<std::uint16_t> times);

// Returns how many resamples to draw where one takes time in proportion to `cells`: 2,000, or as
// many as keep cells x resamples at 2e7, but at least 200: the interval of many images is narrow,
// so that its ends need not be sharp.
std::uint64_t resamples_for(std::int64_t cells);

}  // namespace detol::inline trainer
