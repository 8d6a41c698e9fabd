#include "encodings/network/task.h"

#include <algorithm>
#include <array>

namespace detol::inline encoding {
namespace {

using Words = std::string_view;

constexpr std::array<Words, 1> kSoftmaxLosses = {"cross_entropy"};
constexpr std::array<Words, 1> kSigmoidLosses = {"binary_cross_entropy"};
constexpr std::array<Words, 3> kDistances = {"mse", "mae", "huber"};

// Metric: the direction stands beside the name, so that no metric is without one.
struct Metric {
  Words name;
  bool is_better_if_larger;
};

constexpr Metric more(Words name) {
  return {name, true};
}

constexpr Metric less(Words name) {
  return {name, false};
}

constexpr Metric kLoss = less("val_loss"), kTrainLoss = less("train_loss");
constexpr std::array kOfClasses = {more("val_accuracy"), kLoss,
                                   kTrainLoss,           more("train_accuracy"),
                                   more("val_f1"),       more("val_balanced_accuracy"),
                                   more("val_auc"),      more("val_average_precision"),
                                   more("val_mcc"),      less("val_ece"),
                                   more("val_top5")};
constexpr std::array kOfRegression = {kLoss, kTrainLoss, less("val_mae"), less("val_rmse"),
                                      more("val_r2")};

template <std::size_t kCount>
constexpr std::array<Words, kCount> metric_words(const std::array<Metric, kCount>& metrics) {
  std::array<Words, kCount> names;
  std::ranges::transform(metrics, names.begin(), &Metric::name);
  return names;
}

constexpr auto kClassMetrics = metric_words(kOfClasses);
// All but val_top5, which needs several classes, one of them right.
constexpr std::span<const Words> kSigmoidMetrics = std::span(kClassMetrics).first(10);
constexpr auto kRegressionMetrics = metric_words(kOfRegression);

constexpr std::array kTasks = {
    TaskRow{"classification", "one of several classes", TaskKind::kClassification, kSoftmaxLosses,
            kClassMetrics},
    TaskRow{"binary", "one of two classes, with a single logit", TaskKind::kBinary, kSigmoidLosses,
            kSigmoidMetrics},
    TaskRow{"multi_label", "any of several labels", TaskKind::kMultiLabel, kSigmoidLosses,
            kSigmoidMetrics},
    TaskRow{"regression", "one number or several", TaskKind::kRegression, kDistances,
            kRegressionMetrics},
};

// Returns what a metric measures of one of the splits: of test_accuracy "accuracy". Empty for the
// metric of a program that is named otherwise.
Words measure_of(Words metric) {
  for (const Words split : {"val_", "train_", "test_"})
    if (metric.starts_with(split)) return metric.substr(split.size());
  return {};
}

}  // namespace

std::span<const TaskRow> tasks() {
  return kTasks;
}

const TaskRow& row_of(TaskKind kind) {
  return kTasks[static_cast<std::size_t>(kind)];
}

bool is_better_if_larger(std::string_view metric) {
  const auto is_it = [measure = measure_of(metric)](const Metric& one) {
    return measure_of(one.name) == measure && one.is_better_if_larger;
  };
  return std::ranges::any_of(kOfClasses, is_it) || std::ranges::any_of(kOfRegression, is_it);
}

}  // namespace detol::inline encoding
