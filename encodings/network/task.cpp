#include "encodings/network/task.h"

#include <algorithm>
#include <array>

namespace detol::inline encoding {
namespace {

using Words = std::string_view;

constexpr std::array<Words, 1> kSoftmaxLosses = {"cross_entropy"};
constexpr std::array<Words, 1> kSigmoidLosses = {"binary_cross_entropy"};
constexpr std::array<Words, 3> kDistances = {"mse", "mae", "huber"};

constexpr std::array<Words, 11> kClassMetrics = {"val_accuracy", "val_loss",
                                                 "train_loss",   "train_accuracy",
                                                 "val_f1",       "val_balanced_accuracy",
                                                 "val_auc",      "val_average_precision",
                                                 "val_mcc",      "val_ece",
                                                 "val_top5"};
// All but val_top5, which needs several classes, one of them right.
constexpr std::span<const Words> kSigmoidMetrics = std::span(kClassMetrics).first(10);
constexpr std::array<Words, 5> kRegressionMetrics = {"val_loss", "train_loss", "val_mae",
                                                     "val_rmse", "val_r2"};

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
  constexpr std::array<Words, 9> kLarger = {
      "val_accuracy", "train_accuracy",        "val_f1",  "val_balanced_accuracy",
      "val_auc",      "val_average_precision", "val_mcc", "val_top5",
      "val_r2"};
  return std::ranges::find(kLarger, metric) != kLarger.end();
}

}  // namespace detol::inline encoding
