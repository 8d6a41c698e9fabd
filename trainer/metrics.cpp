#include "trainer/metrics.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cmath>
#include <limits>

#include "core/table.h"

namespace detol::inline trainer {
namespace {

constexpr std::size_t kBins = 15;
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// Returns bits that sort in the order of the numbers: those of negative numbers are inverted.
std::uint64_t sortable(float number) {
  const auto bits = std::bit_cast<std::uint32_t>(number == 0 ? 0.0F : number);
  constexpr std::uint32_t kSign = 0x8000'0000;
  return (bits & kSign) != 0 ? ~bits : bits | kSign;
}

struct Calibration {
  std::array<double, kBins> surplus{};  // sums of confidence minus correctness

  void add(double confidence, bool is_right, double times) {
    const double bin = std::ceil(confidence * kBins) - 1;
    const auto at = static_cast<std::size_t>(std::clamp(bin, 0.0, kBins - 1.0));
    surplus[at] += times * (confidence - (is_right ? 1 : 0));
  }
  double error(std::size_t answers) const {
    double sum = 0;
    for (const double one : surplus) sum += std::abs(one);
    return sum / static_cast<double>(answers);
  }
};

}  // namespace

std::span<const Metrics::Row> Metrics::rows() {
  static constexpr std::array kRows = {Row{"val_top5", &Metrics::top5},
                                       Row{"val_f1", &Metrics::f1},
                                       Row{"val_balanced_accuracy", &Metrics::balanced_accuracy},
                                       Row{"val_mcc", &Metrics::correlation},
                                       Row{"val_auc", &Metrics::auc},
                                       Row{"val_average_precision", &Metrics::average_precision},
                                       Row{"val_ece", &Metrics::calibration_error},
                                       Row{"val_mae", &Metrics::mean_absolute_error},
                                       Row{"val_rmse", &Metrics::root_mean_squared_error},
                                       Row{"val_r2", &Metrics::r2}};
  return kRows;
}

bool Metrics::has(std::string_view name) {
  return find_row(rows(), name) != nullptr;
}

Metrics::Metrics(const Dataset& data, Range range)
    : data_(data),
      range_(range),
      width_(static_cast<std::size_t>(data.info.task.classes)),
      outputs_(images() * width_),
      log_sums_(images()),
      order_(images()),
      counts_(classes()) {
  if (data.info.task.kind == TaskKind::kRegression) return;
  ranked_.reserve(images());
  by_rank_of_classes_.resize(width_);
}

double Metrics::value_of(std::string_view name) {
  const Row* row = find_row(rows(), name);
  assert(row != nullptr);
  return (this->*row->value)();
}

double Metrics::value_of(std::string_view name, std::span<const std::uint16_t> times) {
  assert(is_frozen_ && times.size() == images());
  times_ = times;
  const double value = value_of(name);
  times_ = {};
  return value;
}

void Metrics::freeze() {
  const TaskKind kind = data_.info.task.kind;
  is_frozen_ = false;
  if (kind == TaskKind::kClassification) fill_log_sums();
  if (has_labels(kind)) {
    predicted_.resize(images());
    for (std::size_t i = 0; i < images(); ++i)
      predicted_[i] = static_cast<std::uint32_t>(largest_output(i));
  }
  if (kind != TaskKind::kRegression) {
    orders_.resize(images() * width_);
    for (std::size_t k = 0; k < width_; ++k)
      sort_images(k, std::span(orders_).subspan(k * images(), images()));
  }
  is_frozen_ = true;
}

std::size_t Metrics::classes() const {
  return data_.info.task.kind == TaskKind::kBinary ? 2 : width_;
}

std::size_t Metrics::label(std::size_t image) const {
  return static_cast<std::size_t>(data_.labels[static_cast<std::size_t>(range_.first) + image]);
}

bool Metrics::is_of(std::size_t image, std::size_t output) const {
  if (data_.info.task.kind == TaskKind::kClassification) return label(image) == output;
  return target(image, output) > 0.5;
}

std::size_t Metrics::predicted(std::size_t image) const {
  return is_frozen_ ? predicted_[image] : largest_output(image);
}

std::size_t Metrics::largest_output(std::size_t image) const {
  const auto row = std::span(outputs_).subspan(image * width_, width_);
  if (data_.info.task.kind == TaskKind::kBinary) return row[0] > 0 ? 1 : 0;
  return static_cast<std::size_t>(std::ranges::max_element(row) - row.begin());
}

double Metrics::output(std::size_t image, std::size_t output) const {
  const double number{outputs_[image * width_ + output]};
  if (data_.target_mean.empty()) return number;
  return number * double{data_.target_deviation[output]} + double{data_.target_mean[output]};
}

double Metrics::target(std::size_t image, std::size_t output) const {
  if (data_.info.task.kind == TaskKind::kBinary) return static_cast<double>(label(image));
  const std::size_t at = static_cast<std::size_t>(range_.first) + image;
  return double{data_.targets[at * width_ + output]};
}

void Metrics::fill_log_sums() {
  if (is_frozen_) return;
  for (std::size_t i = 0; i < images(); ++i) {
    const auto row = std::span(outputs_).subspan(i * width_, width_);
    const double largest{std::ranges::max(row)};
    double sum = 0;
    for (const float logit : row) sum += std::exp(double{logit} - largest);
    log_sums_[i] = largest + std::log(sum);
  }
}

// Returns the mean of the values that are not NaN.
template <typename ValueOf>
double Metrics::mean_over(std::size_t count, const ValueOf& value_of) const {
  double sum = 0, counted = 0;
  for (std::size_t k = 0; k < count; ++k) {
    const double value = value_of(k);
    if (std::isnan(value)) continue;
    sum += value;
    ++counted;
  }
  return counted > 0 ? sum / counted : kNone;
}

// The first of equal logits counts as larger, as in predicted().
double Metrics::top5() {
  double found = 0;
  for (std::size_t i = 0; i < images(); ++i) {
    const auto row = std::span(outputs_).subspan(i * width_, width_);
    const std::size_t own = label(i);
    std::size_t before = 0;
    for (std::size_t k = 0; k < width_; ++k)
      before += row[k] > row[own] || (row[k] == row[own] && k < own) ? 1 : 0;
    found += before < 5 ? times(i) : 0;
  }
  return found / static_cast<double>(images());
}

void Metrics::count_classes() {
  std::ranges::fill(counts_, ClassCounts{});
  std::int64_t once = 1;
  const auto count = [&](std::size_t k, bool is_predicted, bool is_there) {
    counts_[k].correct += is_predicted && is_there ? once : 0;
    counts_[k].predicted += is_predicted ? once : 0;
    counts_[k].present += is_there ? once : 0;
  };
  for (std::size_t i = 0; i < images(); ++i) {
    once = static_cast<std::int64_t>(times(i));
    if (has_labels(data_.info.task.kind)) {
      const std::size_t said = predicted(i), is = label(i);
      count(said, true, said == is);
      if (said != is) count(is, false, true);
      continue;
    }
    for (std::size_t k = 0; k < width_; ++k) count(k, output(i, k) > 0, is_of(i, k));
  }
}

double Metrics::f1() {
  count_classes();
  return mean_over(classes(), [this](std::size_t k) {
    const auto either = static_cast<double>(counts_[k].predicted + counts_[k].present);
    return either > 0 ? 2 * static_cast<double>(counts_[k].correct) / either : kNone;
  });
}

double Metrics::balanced_accuracy() {
  count_classes();
  const auto all = static_cast<std::int64_t>(images());
  const auto share = [](std::int64_t right, std::int64_t of) {
    return of > 0 ? static_cast<double>(right) / static_cast<double>(of) : kNone;
  };
  return mean_over(classes(), [&](std::size_t k) {
    const auto [correct, predicted, present] = counts_[k];
    const double found = share(correct, present);
    if (has_labels(data_.info.task.kind)) return found;
    const double left = share(all - predicted - present + correct, all - present);
    if (std::isnan(left)) return found;
    return std::isnan(found) ? left : (found + left) / 2;
  });
}

double Metrics::correlation() {
  count_classes();
  if (!has_labels(data_.info.task.kind))
    return mean_over(width_, [this](std::size_t k) { return correlation_of(counts_[k]); });
  const auto all = static_cast<double>(images());
  double correct = 0, together = 0, predicted = 0, present = 0;  // sums over the classes
  for (const ClassCounts& one : counts_) {
    const auto said = static_cast<double>(one.predicted), is = static_cast<double>(one.present);
    correct += static_cast<double>(one.correct);
    together += said * is;
    predicted += said * said;
    present += is * is;
  }
  const double spread = (all * all - predicted) * (all * all - present);
  return spread > 0 ? (all * correct - together) / std::sqrt(spread) : 0;
}

double Metrics::correlation_of(const ClassCounts& label) const {
  const auto all = static_cast<double>(images()), said = static_cast<double>(label.predicted),
             is = static_cast<double>(label.present);
  const double spread = said * (all - said) * is * (all - is);
  return spread > 0 ? (all * static_cast<double>(label.correct) - said * is) / std::sqrt(spread)
                    : 0;
}

double Metrics::average_precision() {
  if (!is_frozen_) return by_rank().average_precision;
  return mean_over(width_, [this](std::size_t k) {
    rank(k);
    return average_precision_of_ranked();
  });
}

double Metrics::auc() {
  if (!is_frozen_) return by_rank().auc;
  return mean_over(width_, [this](std::size_t k) {
    rank(k);
    return auc_of_ranked();
  });
}

const Metrics::ByRank& Metrics::by_rank() {
  if (by_rank_) return *by_rank_;
  if (data_.info.task.kind == TaskKind::kClassification) fill_log_sums();
  std::vector<ByRank>& of_classes = by_rank_of_classes_;
  for (std::size_t k = 0; k < width_; ++k) {
    rank(k);
    of_classes[k] = {auc_of_ranked(), average_precision_of_ranked()};
  }
  by_rank_ = {mean_over(width_, [&](std::size_t k) { return of_classes[k].auc; }),
              mean_over(width_, [&](std::size_t k) { return of_classes[k].average_precision; })};
  return *by_rank_;
}

// Sorts images by score, the lowest first.
void Metrics::sort_images(std::size_t output, std::span<std::uint64_t> order) const {
  const bool is_softmax = data_.info.task.kind == TaskKind::kClassification;
  for (std::size_t i = 0; i < images(); ++i) {
    const double logit{outputs_[i * width_ + output]};
    const auto score = static_cast<float>(is_softmax ? logit - log_sums_[i] : logit);
    order[i] = sortable(score) << 32 | i;
  }
  std::ranges::sort(order);
}

void Metrics::rank(std::size_t output) {
  if (!is_frozen_) sort_images(output, order_);
  const std::span<const std::uint64_t> order =
      is_frozen_ ? std::span(orders_).subspan(output * images(), images()) : std::span(order_);
  ranked_.clear();
  for (std::size_t at = 0; at < order.size(); ++at) {
    if (at == 0 || order[at] >> 32 != order[at - 1] >> 32) ranked_.emplace_back();
    const std::size_t image = order[at] & 0xffff'ffff;
    Tied& tied = ranked_.back();
    (is_of(image, output) ? tied.of_class : tied.others) += times(image);
  }
}

// An image of the class wins against the other classes' images before it.
double Metrics::auc_of_ranked() const {
  double wins = 0, of_class = 0, others = 0;
  for (const Tied& tied : ranked_) {
    wins += tied.of_class * (others + tied.others / 2);
    of_class += tied.of_class;
    others += tied.others;
  }
  return of_class > 0 && others > 0 ? wins / (of_class * others) : kNone;
}

double Metrics::average_precision_of_ranked() const {
  double found = 0, all = 0, sum = 0;
  for (auto tied = ranked_.rbegin(); tied != ranked_.rend(); ++tied) {
    found += tied->of_class;
    all += tied->of_class + tied->others;
    if (all > 0) sum += tied->of_class * found / all;
  }
  return found > 0 ? sum / found : kNone;
}

double Metrics::calibration_error() {
  if (data_.info.task.kind != TaskKind::kClassification)
    return mean_over(width_, [this](std::size_t k) { return calibration_error_of(k); });
  fill_log_sums();
  Calibration bins;
  for (std::size_t i = 0; i < images(); ++i) {
    const std::size_t said = predicted(i);
    bins.add(std::exp(double{outputs_[i * width_ + said]} - log_sums_[i]), said == label(i),
             times(i));
  }
  return bins.error(images());
}

// Bins one sigmoid by the confidence of its prediction, positive or negative.
double Metrics::calibration_error_of(std::size_t output) {
  Calibration bins;
  for (std::size_t i = 0; i < images(); ++i) {
    const double logit{outputs_[i * width_ + output]};
    bins.add(1 / (1 + std::exp(-std::abs(logit))), (logit > 0) == is_of(i, output), times(i));
  }
  return bins.error(images());
}

double Metrics::mean_absolute_error() {
  return mean_over(width_, [this](std::size_t k) {
    double sum = 0;
    for (std::size_t i = 0; i < images(); ++i)
      sum += times(i) * std::abs(output(i, k) - target(i, k));
    return sum / static_cast<double>(images());
  });
}

double Metrics::root_mean_squared_error() {
  return mean_over(width_, [this](std::size_t k) {
    double sum = 0;
    for (std::size_t i = 0; i < images(); ++i) {
      const double d = output(i, k) - target(i, k);
      sum += times(i) * d * d;
    }
    return std::sqrt(sum / static_cast<double>(images()));
  });
}

double Metrics::r2() {
  return mean_over(width_, [this](std::size_t k) {
    double mean = 0, errors = 0, deviations = 0;
    for (std::size_t i = 0; i < images(); ++i) mean += times(i) * target(i, k);
    mean /= static_cast<double>(images());
    for (std::size_t i = 0; i < images(); ++i) {
      const double error = output(i, k) - target(i, k), deviation = target(i, k) - mean;
      errors += times(i) * error * error;
      deviations += times(i) * deviation * deviation;
    }
    return deviations > 0 ? 1 - errors / deviations : kNone;
  });
}

}  // namespace detol::inline trainer
