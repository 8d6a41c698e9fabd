#pragma once

// Task: what a network predicts for an image: one class of several, one number, several numbers, or
// a set of labels. The table has the losses of each kind and the metrics that its trials report.

#include <span>
#include <string_view>

#include "encodings/network/layer.h"

namespace detol::inline encoding {

enum class TaskKind {
  kClassification,  // one of K classes: K logits, softmax
  kBinary,          // one of two classes: one logit, of the second
  kMultiLabel,      // K labels, each there or not: a logit for each
  kRegression,      // K numbers, as they are
};

// Task stores the shapes that the data requires of a network.
struct Task {
  Shape input;      // of one image
  int classes = 0;  // outputs of the network, as TaskKind counts them
  TaskKind kind = TaskKind::kClassification;
};

struct TaskRow {
  std::string_view name;  // data.task
  std::string_view summary;
  TaskKind kind;
  std::span<const std::string_view> losses;   // for training.loss; the first is the default
  std::span<const std::string_view> metrics;  // of every epoch
};

// Returns every task, in the order of TaskKind.
std::span<const TaskRow> tasks();

const TaskRow& row_of(TaskKind kind);

// True for a metric of these tasks of which more is better: accuracies and their like.
bool is_better_if_larger(std::string_view metric);

// Counts the predictions for one image that are right or wrong: the divisor of an accuracy.
constexpr int predictions_per_image(const Task& task) {
  return task.kind == TaskKind::kMultiLabel ? task.classes : 1;
}

// True if the target of an image is a class label; else it is numbers, one for each output.
constexpr bool has_labels(TaskKind kind) {
  return kind == TaskKind::kClassification || kind == TaskKind::kBinary;
}

}  // namespace detol::inline encoding
