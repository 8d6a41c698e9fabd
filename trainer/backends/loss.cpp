#include "trainer/backends/loss.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

namespace detol::inline trainer {

struct LossWorkspace {
  std::span<double> scratch;
  double smoothing;
};

namespace {

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
      : label_(static_cast<std::size_t>(label)),
        mixed_(static_cast<std::size_t>(mix.label)),
        share_(mix.share),
        spread_(smoothing / static_cast<double>(classes)),
        most_(1.0 - smoothing) {}

  std::size_t label() const { return label_; }
  double sum() const { return 1; }
  double operator()(std::size_t k) const {
    if (share_ == 0) return k == label_ ? most_ + spread_ : spread_;
    const double own = k == label_ ? 1 - share_ : 0, other = k == mixed_ ? share_ : 0;
    return most_ * (own + other) + spread_;
  }

 private:
  std::size_t label_, mixed_;
  double share_, spread_, most_;
};

// SoftTargets: the targets of one image, one for each class.
class SoftTargets {
 public:
  SoftTargets(std::span<const float> targets, double smoothing)
      : targets_(targets),
        sum_(std::accumulate(targets.begin(), targets.end(), 0.0)),
        spread_(smoothing * sum_ / static_cast<double>(targets.size())),
        most_(1.0 - smoothing) {}

  std::size_t label() const {
    return static_cast<std::size_t>(std::max_element(targets_.begin(), targets_.end()) -
                                    targets_.begin());
  }
  double sum() const { return sum_; }
  double operator()(std::size_t k) const { return most_ * double{targets_[k]} + spread_; }

 private:
  std::span<const float> targets_;
  double sum_, spread_, most_;
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
    result.correct += std::cmp_equal(largest, wanted.label()) ? 1 : 0;
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

// Term: one output's loss, its derivative by the output, and whether the output predicts the
// target.
struct Term {
  double loss = 0;
  double slope = 0;
  bool is_right = false;
};

// Computes a loss that is the mean over all outputs of a term per output.
template <typename Real, typename TermOf>
BatchResult mean_of(const LossInput<Real>& in, const LossWorkspace& work, const TermOf& term_of) {
  const double terms = static_cast<double>(in.batch) * static_cast<double>(work.scratch.size());
  BatchResult result;
  double sum = 0;
  for (std::size_t i = 0; i < in.logits.size(); ++i) {
    const Term term = term_of(static_cast<double>(in.logits[i]), double{in.targets.targets[i]});
    sum += term.loss;
    result.correct += term.is_right ? 1 : 0;
    if (!in.gradient.empty()) in.gradient[i] = static_cast<Real>(term.slope / terms);
  }
  result.loss = sum / terms;
  return result;
}

// Computes max(x, 0) - x t + log(1 + exp(-|x|)), which does not overflow.
template <typename Real>
BatchResult binary_cross_entropy(const LossInput<Real>& in, const LossWorkspace& work) {
  return mean_of(in, work, [s = work.smoothing](double x, double t) {
    const double wanted = (1 - s) * t + s / 2;
    const double small = std::exp(-std::abs(x));
    const double sigmoid = (x >= 0 ? 1 : small) / (1 + small);
    return Term{.loss = std::max(x, 0.0) - x * wanted + std::log1p(small),
                .slope = sigmoid - wanted,
                .is_right = (x > 0) == (t > 0.5)};
  });
}

template <typename Real>
BatchResult mse(const LossInput<Real>& in, const LossWorkspace& work) {
  return mean_of(in, work, [](double y, double t) {
    const double d = y - t;
    return Term{.loss = d * d, .slope = 2 * d};
  });
}

// Returns the sign of d; NaN stays NaN.
double sign_of(double d) {
  return d > 0 ? 1 : d < 0 ? -1 : d;
}

template <typename Real>
BatchResult mae(const LossInput<Real>& in, const LossWorkspace& work) {
  return mean_of(in, work, [](double y, double t) {
    return Term{.loss = std::abs(y - t), .slope = sign_of(y - t)};
  });
}

template <typename Real>
BatchResult huber(const LossInput<Real>& in, const LossWorkspace& work) {
  return mean_of(in, work, [](double y, double t) {
    const double d = y - t;
    if (std::abs(d) > 1) return Term{.loss = std::abs(d) - 0.5, .slope = sign_of(d)};
    return Term{.loss = d * d / 2, .slope = d};
  });
}

}  // namespace

struct LossRow {
  bool takes_labels;
  BatchResult (*in_float)(const LossInput<float>&, const LossWorkspace&);
  BatchResult (*in_double)(const LossInput<double>&, const LossWorkspace&);
};

namespace {

// kLosses is in the order of LossKind.
constexpr std::array kLosses = {
    LossRow{true, cross_entropy<float>, cross_entropy<double>},
    LossRow{false, binary_cross_entropy<float>, binary_cross_entropy<double>},
    LossRow{false, mse<float>, mse<double>},
    LossRow{false, mae<float>, mae<double>},
    LossRow{false, huber<float>, huber<double>},
    LossRow{false, soft_cross_entropy<float>, soft_cross_entropy<double>},
};

static_assert(kLosses.size() == static_cast<std::size_t>(LossKind::kSoftCrossEntropy) + 1);

}  // namespace

Loss::Loss(LossKind kind, std::int64_t outputs, double smoothing)
    : row_(&kLosses[static_cast<std::size_t>(kind)]),
      smoothing_(smoothing),
      scratch_(static_cast<std::size_t>(outputs)) {}

bool Loss::takes_labels() const {
  return row_->takes_labels;
}

BatchResult Loss::operator()(const LossInput<float>& input) {
  return row_->in_float(input, {scratch_, smoothing_});
}

BatchResult Loss::operator()(const LossInput<double>& input) {
  return row_->in_double(input, {scratch_, smoothing_});
}

}  // namespace detol::inline trainer
