#pragma once

// OutcomeTransform: outcomes as a Gaussian process likes them: finite, without outliers on the bad
// side, standardised, and with a power transform that makes them look normal (Yeo and Johnson,
// 2000, Biometrika 87; as HEBO, arXiv 2012.03826, does). Smaller is better, and it keeps the order,
// but for the outliers, which become equal. Fitted once, then fixed until the next fit, so that a
// new outcome changes no old one. A value type.

#include <cstddef>
#include <span>
#include <vector>

namespace detol {

class OutcomeTransform {
 public:
  OutcomeTransform() = default;  // changes nothing that is finite; the rest becomes 0

  // Of these outcomes; NaN and infinities among them are ignored. O(n log n), about 20 powers each.
  static OutcomeTransform fitted(std::span<const double> outcomes);

  // Always finite: +infinity and NaN become the worst value there was, and a value beyond 100
  // deviations on the good side counts by its logarithm.
  double operator()(double outcome) const;

  // As a list of numbers, for the ledger, and back.
  std::vector<double> to_numbers() const;
  static constexpr std::size_t kNumbers = 6;
  static OutcomeTransform from_numbers(std::span<const double> numbers);

 private:
  double standardised(double outcome) const;  // before the power transform

  double highest_ = 0;               // outcomes above are taken for this
  double centre_ = 0, scale_ = 0;    // before the power transform; scale 0: not fitted
  double lambda_ = 1;                // its exponent
  double mean_ = 0, deviation_ = 1;  // after it
};

}  // namespace detol
