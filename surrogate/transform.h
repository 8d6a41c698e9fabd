#pragma once

// OutcomeTransform prepares outcomes for a Gaussian process: finite, without outliers on the bad
// side, standardised, and with a power transform that makes them look normal (Yeo and Johnson,
// 2000, Biometrika 87; as HEBO, arXiv 2012.03826, does). Smaller is better, and it keeps the order,
// but for the outliers, which become equal. It is fixed until the next fit, so that a new outcome
// changes no old one. A value type.

#include <cstddef>
#include <span>
#include <vector>

namespace detol::inline surrogate {

class OutcomeTransform {
 public:
  OutcomeTransform() = default;  // changes nothing that is finite; the rest becomes 0

  // Origin: the outcome from which the power transform counts, and its unit. kMean: the mean, in
  // deviations. kLeast: the least, in distances of the median from it, so that the better half is
  // told apart however bad the worst are.
  enum class Origin { kMean, kLeast };

  // Power: the exponent of the power transform. kLikeliest: that of greatest likelihood. kHalf: the
  // mean of that and 1, which changes nothing, so that half of the skew stays.
  enum class Power { kLikeliest, kHalf };

  // Fits the transform to outcomes, ignoring NaN and infinities. O(n log n), about 20 powers each.
  static OutcomeTransform fitted(std::span<const double> outcomes, Origin origin = Origin::kMean,
                                 Power power = Power::kLikeliest);

  // Returns the sum of the logarithms of the transform's slope at the outcomes that it tells apart.
  // With it the likelihoods of transformed outcomes compare transforms (Snelson, Rasmussen and
  // Ghahramani, 2004, "Warped Gaussian Processes", NIPS).
  double log_slopes(std::span<const double> outcomes) const;

  // Fits a linear transform to what is 0 at a bound, so that values on both sides of it differ: a
  // value that is no further above 0 than the range of most is no outlier. O(n log n).
  static OutcomeTransform fitted_to_bound(std::span<const double> outcomes);

  // Returns a finite number: +infinity and NaN become the worst value of the fit, and a value
  // beyond 100 deviations on the good side counts by its logarithm.
  double operator()(double outcome) const;

  // Returns the outcome that is transformed to `y`: at most the worst that the transform tells
  // apart, and within 100 deviations where the power transform takes no outcome to `y`.
  double inverse(double y) const;

  // to_numbers() writes the transform as a list of numbers for the ledger, from_numbers() reads it.
  std::vector<double> to_numbers() const;
  static constexpr std::size_t kNumbers = 6;
  static OutcomeTransform from_numbers(std::span<const double> numbers);

 private:
  double standardised(double outcome) const;  // before the power transform

  double highest_ = 0;               // greater outcomes count as this
  double centre_ = 0, scale_ = 0;    // before the power transform; scale 0: not fitted
  double lambda_ = 1;                // exponent of the power transform
  double mean_ = 0, deviation_ = 1;  // after the power transform
};

}  // namespace detol::inline surrogate
