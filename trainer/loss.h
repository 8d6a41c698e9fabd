#pragma once

// Softmax cross-entropy with label smoothing, the trainer's one loss. The target of an image is
// 1 - s + s / K for its label and s / K for the other of the K classes (Szegedy et al., 2016,
// arXiv 1512.00567).

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "trainer/backend.h"

namespace detol {

// Sums over images one at a time, in double whatever Real is; allocates once.
class CrossEntropy {
 public:
  CrossEntropy(std::int64_t classes, double smoothing)
      : smoothing_(smoothing), probabilities_(static_cast<std::size_t>(classes)) {}

  // The labels' images' share of the mean loss over `batch` images; logits: one row of K per label.
  // `gradient` is empty or receives the derivative of that mean by each logit.
  template <typename Real>
  BatchResult operator()(std::span<const Real> logits, std::span<const std::int32_t> labels,
                         std::span<Real> gradient, std::int64_t batch) {
    const std::size_t classes = probabilities_.size();
    const auto images = static_cast<double>(batch);
    BatchResult result;
    for (std::size_t n = 0; n < labels.size(); ++n) {
      const auto label = static_cast<std::size_t>(labels[n]);
      const std::span<const Real> row = logits.subspan(n * classes, classes);
      result.loss += loss_of(row, label) / images;
      const auto largest = std::max_element(row.begin(), row.end()) - row.begin();
      result.correct += static_cast<std::size_t>(largest) == label ? 1 : 0;
      if (gradient.empty()) continue;
      for (std::size_t k = 0; k < classes; ++k) {
        gradient[n * classes + k] =
            static_cast<Real>((probabilities_[k] - target(k, label)) / images);
      }
    }
    return result;
  }

 private:
  double target(std::size_t k, std::size_t label) const {
    const double spread = smoothing_ / static_cast<double>(probabilities_.size());
    return k == label ? 1.0 - smoothing_ + spread : spread;
  }

  template <typename Real>
  double loss_of(std::span<const Real> row, std::size_t label) {
    const auto largest = static_cast<double>(*std::max_element(row.begin(), row.end()));
    double sum = 0;
    for (std::size_t k = 0; k < row.size(); ++k) {
      probabilities_[k] = std::exp(static_cast<double>(row[k]) - largest);
      sum += probabilities_[k];
    }
    const double log_sum = largest + std::log(sum);
    double loss = 0;
    for (std::size_t k = 0; k < row.size(); ++k) {
      probabilities_[k] /= sum;
      const double weight = target(k, label);
      if (weight != 0) loss += weight * (log_sum - static_cast<double>(row[k]));
    }
    return loss;
  }

  double smoothing_;
  std::vector<double> probabilities_;
};

}  // namespace detol
