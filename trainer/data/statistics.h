#pragma once

// Mean and standard deviation of every channel over the training split, for Normaliser.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"
#include "encodings/study/study_config.h"
#include "trainer/data/dataset.h"

namespace detol::inline trainer {

// ByteSums: mean and standard deviation of every channel of bytes in [0, 1], from exact sums of
// integers, which do not depend on the order of addition.
class ByteSums {
 public:
  explicit ByteSums(const Shape& shape);

  void add(std::span<const std::uint8_t> image);  // C x H x W

  float mean(std::size_t channel) const;
  float deviation(std::size_t channel) const;  // 1 for a constant channel: it is not scaled

  // Checks that pixels differ. Errors (kInput): every channel is constant. REQUIRES: an image was
  // added.
  Result<void> check(const std::string& path) const;

 private:
  struct Sums {
    std::uint64_t sum = 0, squares = 0;
  };
  void add(std::span<const std::uint8_t> pixels, Sums& to) const;
  double variance(const Sums& channel) const;

  std::size_t plane_;
  std::uint64_t images_ = 0;
  std::vector<Sums> channels_;
};

// Fills data.mean and data.deviation. Bytes are summed by ByteSums, floats in double, in their
// order. A constant channel is not scaled. Errors (kInput): all channels of bytes are constant.
Result<void> fill_statistics(Dataset& data, const std::string& path);

// Fills data.target_mean and data.target_deviation, per target. Errors (kInput): a target is the
// same in every training record.
Result<void> fill_target_statistics(Dataset& data, const std::string& path);

// Checks that every label of a multi_label task is 1 for some training images and 0 for others.
// Errors (kInput): a label is not.
Result<void> check_multi_labels(const Dataset& data, const std::string& path);

// Makes the task's checks for data of which only labels or targets are loaded.
Result<void> check_task_targets(Dataset& data, const DataConfig& config);

}  // namespace detol::inline trainer
