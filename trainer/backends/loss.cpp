#include "trainer/backends/loss.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "trainer/backends/loss_functions.h"

namespace detol::inline trainer {

namespace {

struct LossWorkspace {
  std::span<double> scratch;
  double smoothing;
};

// Writes the softmax of a row to `probabilities`; returns the logarithm of the sum of exponentials.
template <typename Real>
double softmax(std::span<const Real> row, std::span<double> probabilities) {
  const auto largest = static_cast<double>(*std::max_element(row.begin(), row.end()));
  double sum = 0;
  for (std::size_t k = 0; k < row.size(); ++k) {
    probabilities[k] = std::exp(static_cast<double>(row[k]) - largest);
    sum += probabilities[k];
  }
  for (double& probability : probabilities) probability /= sum;
  return largest + std::log(sum);
}

// LabelTargets: the target probabilities of one image.
class LabelTargets {
 public:
  LabelTargets(std::int32_t label, const MixedLabel& mix, double smoothing, std::size_t classes)
      : label_(label),
        mix_(mix),
        by_(smoothing_of(smoothing, 1, static_cast<std::int64_t>(classes))) {}

  std::int64_t label() const { return label_; }
  double sum() const { return 1; }
  double operator()(std::size_t k) const {
    return target_of(static_cast<std::int64_t>(k), label_, mix_, by_);
  }

 private:
  std::int32_t label_;
  MixedLabel mix_;
  Smoothing by_;
};

// SoftTargets: the targets of one image, one for each class.
class SoftTargets {
 public:
  SoftTargets(std::span<const float> targets, double smoothing)
      : targets_(targets),
        sum_(std::accumulate(targets.begin(), targets.end(), 0.0)),
        by_(smoothing_of(smoothing, sum_, std::ssize(targets))) {}

  std::int64_t label() const {
    return std::max_element(targets_.begin(), targets_.end()) - targets_.begin();
  }
  double sum() const { return sum_; }
  double operator()(std::size_t k) const { return by_.most * double{targets_[k]} + by_.spread; }

 private:
  std::span<const float> targets_;
  double sum_;
  Smoothing by_;
};

// Computes the cross-entropy of the softmax of the logits and targets_of(image).
template <typename Real, typename TargetsOf>
BatchResult softmax_loss(const LossInput<Real>& in, const LossWorkspace& work,
                         const TargetsOf& targets_of) {
  const std::size_t classes = work.scratch.size(), images = in.logits.size() / classes;
  const auto batch = static_cast<double>(in.batch);
  BatchResult result;
  for (std::size_t n = 0; n < images; ++n) {
    const std::span<const Real> row = in.logits.subspan(n * classes, classes);
    const auto wanted = targets_of(n);
    const double log_sum = softmax(row, work.scratch);
    double loss = 0;
    for (std::size_t k = 0; k < classes; ++k) {
      const double weight = wanted(k);
      if (weight != 0) loss += weight * (log_sum - static_cast<double>(row[k]));
    }
    result.loss += loss / batch;
    const auto largest = std::max_element(row.begin(), row.end()) - row.begin();
    result.correct += largest == wanted.label() ? 1 : 0;
    if (in.gradient.empty()) continue;
    const double sum = wanted.sum();
    for (std::size_t k = 0; k < classes; ++k)
      in.gradient[n * classes + k] = static_cast<Real>((sum * work.scratch[k] - wanted(k)) / batch);
  }
  return result;
}

template <typename Real>
BatchResult cross_entropy(const LossInput<Real>& in, const LossWorkspace& work) {
  return softmax_loss(in, work, [&](std::size_t n) {
    const MixedLabel mix = in.targets.mixes.empty() ? MixedLabel{} : in.targets.mixes[n];
    return LabelTargets(in.targets.labels[n], mix, work.smoothing, work.scratch.size());
  });
}

template <typename Real>
BatchResult soft_cross_entropy(const LossInput<Real>& in, const LossWorkspace& work) {
  const std::size_t classes = work.scratch.size();
  return softmax_loss(in, work, [&](std::size_t n) {
    return SoftTargets(in.targets.targets.subspan(n * classes, classes), work.smoothing);
  });
}

// Computes a loss that is the mean over all outputs of a term per output.
template <typename Real>
BatchResult mean_of_terms(LossKind kind, const LossInput<Real>& in, const LossWorkspace& work) {
  const double terms = static_cast<double>(in.batch) * static_cast<double>(work.scratch.size());
  BatchResult result;
  double sum = 0;
  for (std::size_t i = 0; i < in.logits.size(); ++i) {
    const LossTerm term = term_of(kind, work.smoothing, static_cast<double>(in.logits[i]),
                                  double{in.targets.targets[i]});
    sum += term.loss;
    result.correct += term.is_right ? 1 : 0;
    if (!in.gradient.empty()) in.gradient[i] = static_cast<Real>(term.slope / terms);
  }
  result.loss = sum / terms;
  return result;
}

template <typename Real>
BatchResult loss_of(LossKind kind, const LossInput<Real>& in, const LossWorkspace& work) {
  if (kind == LossKind::kCrossEntropy) return cross_entropy(in, work);
  if (kind == LossKind::kSoftCrossEntropy) return soft_cross_entropy(in, work);
  return mean_of_terms(kind, in, work);
}

}  // namespace

Loss::Loss(LossKind kind, std::int64_t outputs, double smoothing)
    : kind_(kind), smoothing_(smoothing), scratch_(static_cast<std::size_t>(outputs)) {}

BatchResult Loss::operator()(const LossInput<float>& input) {
  return loss_of(kind_, input, {scratch_, smoothing_});
}

BatchResult Loss::operator()(const LossInput<double>& input) {
  return loss_of(kind_, input, {scratch_, smoothing_});
}

}  // namespace detol::inline trainer
