#include "encodings/network/task.h"

#include <algorithm>
#include <array>

namespace detol::inline encoding {
namespace {

using Words = std::string_view;

constexpr std::array<Words, 1> kSoftmaxLosses = {"cross_entropy"};
constexpr std::array<Words, 1> kSigmoidLosses = {"binary_cross_entropy"};
constexpr std::array<Words, 3> kDistances = {"mse", "mae", "huber"};

enum class Better { kLarger, kSmaller };

// Metric: the direction stands beside the name, so that no metric is without one.
struct Metric {
  constexpr Metric(Words its_name, Better its_better) : name(its_name), better(its_better) {}
  Words name;
  Better better;
};

constexpr std::array kOfClasses = {
    Metric{"val_accuracy", Better::kLarger}, Metric{"val_loss", Better::kSmaller},
    Metric{"train_loss", Better::kSmaller},  Metric{"train_accuracy", Better::kLarger},
    Metric{"val_f1", Better::kLarger},       Metric{"val_balanced_accuracy", Better::kLarger},
    Metric{"val_auc", Better::kLarger},      Metric{"val_average_precision", Better::kLarger},
    Metric{"val_mcc", Better::kLarger},      Metric{"val_ece", Better::kSmaller},
    Metric{"val_top5", Better::kLarger}};
constexpr std::array kOfRegression = {
    Metric{"val_loss", Better::kSmaller}, Metric{"train_loss", Better::kSmaller},
    Metric{"val_mae", Better::kSmaller}, Metric{"val_rmse", Better::kSmaller},
    Metric{"val_r2", Better::kLarger}};

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

}  // namespace

std::span<const TaskRow> tasks() {
  return kTasks;
}

const TaskRow& row_of(TaskKind kind) {
  return kTasks[static_cast<std::size_t>(kind)];
}

bool is_better_if_larger(std::string_view metric) {
  const auto is_it = [metric](const Metric& one) {
    return one.name == metric && one.better == Better::kLarger;
  };
  return std::ranges::any_of(kOfClasses, is_it) || std::ranges::any_of(kOfRegression, is_it);
}

}  // namespace detol::inline encoding
