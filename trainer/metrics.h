#pragma once

// Metrics of a network's outputs for a range of the data, in addition to loss and accuracy. Trials
// report those of validation; the names of others begin accordingly (test_metrics.h).
//
//   val_top5   share of the images whose label is among the five largest logits; 1 up to 5 classes
//   val_f1     2 TP / (2 TP + FP + FN), mean over the classes (multi_label: the labels);
//              classes that are neither present nor predicted are left out
//   val_balanced_accuracy   share of a class's images that are predicted as such, mean over the
//              classes that are there; multi_label: mean over labels of the mean of both shares
//   val_mcc    Matthews' correlation of prediction and label (1975), for K classes as Gorodkin's
//   R_K
//              (2004); multi_label: mean over the labels; 0 if all are predicted, or are, the same
//   val_auc    the probability that an image of the class has a higher score than one that is not,
//              ties count half (Hanley and McNeil, 1982); mean over the classes, one against the
//              rest; classes of all images or of none are left out; scores: log probabilities
//   val_average_precision   sum over the scores, from the highest, of the increase of recall times
//              the precision of the images with at least that score; mean over the classes, one
//              against the rest; classes without an image are left out; binary: of the second class
//   val_ece    expected calibration error (Guo et al., 2017, arXiv 1706.04599): mean difference of
//              confidence and accuracy in 15 bins of equal width; multi_label: mean over labels
//   val_mae    mean over the outputs of the mean absolute error, in the units of the file
//   val_rmse   mean over the outputs of the root of the mean squared error, likewise
//   val_r2     mean over the outputs of 1 - squared error / squared deviation from the mean; those
//              whose targets are all equal are left out
//
// A metric is NaN if all are left out. It is equal on all ranks, for any number of ranks: every
// rank computes it from the outputs of all. O(N K log N) for N images and K outputs.

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "trainer/data/dataset.h"

namespace detol::inline trainer {

// Metrics computes them from a network's outputs for a range of the data. Allocates only in the
// constructor and in freeze().
class Metrics {
 public:
  Metrics(const Dataset& data, Range range);

  // The caller writes the outputs here: logits, or standardised predictions; N x outputs. Asked for
  // again whenever they change.
  std::span<float> outputs() {
    by_rank_.reset();
    return outputs_;
  }

  // Returns the metric of that name, one of the list above. REQUIRES: the data's task has it.
  double value_of(std::string_view name);

  // Declares that the outputs stay as they are. What depends on them alone is then computed once:
  // 8 bytes for each image and output of a task that has an AUC.
  void freeze();

  // Returns the metric as if image i were there times[i] times. REQUIRES: freeze() was called;
  // a number for each image, which add up to the number of images.
  double value_of(std::string_view name, std::span<const std::uint16_t> times);

  // Returns whether a metric is in the list above; the others come from the loss.
  static bool has(std::string_view name);

 private:
  struct Row {
    std::string_view name;
    double (Metrics::*value)();
  };
  static std::span<const Row> rows();
  struct ClassCounts {
    std::int64_t correct = 0, predicted = 0, present = 0;
  };
  // ByRank: the metrics that need the images in the order of their scores.
  struct ByRank {
    double auc = 0, average_precision = 0;
  };
  // Tied: images of one score. Their order does not count.
  struct Tied {
    double of_class = 0, others = 0;
  };

  double top5();
  double f1();
  double balanced_accuracy();
  double correlation();
  double auc();
  double average_precision();
  double calibration_error();
  double mean_absolute_error();
  double root_mean_squared_error();
  double r2();

  std::size_t images() const { return static_cast<std::size_t>(range_.count); }
  double times(std::size_t image) const { return times_.empty() ? 1 : times_[image]; }
  std::size_t classes() const;  // of an image; in multi_label, the number of labels
  bool is_of(std::size_t image, std::size_t output) const;
  std::size_t predicted(std::size_t image) const;
  std::size_t label(std::size_t image) const;
  double output(std::size_t image, std::size_t output) const;  // in the units of the file
  double target(std::size_t image, std::size_t output) const;  // likewise
  void fill_log_sums();
  std::size_t largest_output(std::size_t image) const;
  void count_classes();  // sets counts_
  double correlation_of(const ClassCounts& label) const;
  void rank(std::size_t output);  // sets ranked_: by score, the lowest first
  void sort_images(std::size_t output, std::span<std::uint64_t> order) const;
  const ByRank& by_rank();  // of outputs that are not frozen, sorted once
  double auc_of_ranked() const;
  double average_precision_of_ranked() const;
  double calibration_error_of(std::size_t output);
  template <typename ValueOf>
  double mean_over(std::size_t count, const ValueOf& value_of) const;

  const Dataset& data_;
  Range range_;
  std::size_t width_;  // outputs of an image
  std::vector<float> outputs_;
  std::vector<double> log_sums_;      // N: log of the sum of exponentials; only for softmax
  std::vector<std::uint64_t> order_;  // N: sortable bits of a score, and its image
  std::vector<ClassCounts> counts_;   // per class or label
  std::vector<Tied> ranked_;          // of one class
  std::vector<ByRank> by_rank_of_classes_;
  std::optional<ByRank> by_rank_;  // of these outputs
  bool is_frozen_ = false;
  std::span<const std::uint16_t> times_;  // of each image; empty: once
  std::vector<std::uint64_t> orders_;     // frozen: `order_` of each output
  std::vector<std::uint32_t> predicted_;  // frozen: of each image
};

}  // namespace detol::inline trainer
