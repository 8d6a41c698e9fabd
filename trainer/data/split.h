#pragma once

// The choice of the training images that are held out for validation. It depends only on the number
// of images and the share: a permutation from a constant seed, of which the last images are the
// validation split.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/result.h"
#include "encodings/study/study_config.h"

namespace detol::inline trainer {

struct TwoWaySplit {
  std::int64_t training = 0;
  std::int64_t validation = 0;
  std::vector<std::int64_t> position;  // of image i in the new order; training if below `training`
};

// Holds out round(images * share) images. Errors (kInput): one of the two splits would be empty.
Result<TwoWaySplit> split_training(std::int64_t images, double share);

// SplitAssignment: the position of each sample of the training files in the data set. The splits
// follow each other: training, validation, test.
struct SplitAssignment {
  std::int64_t training = 0, validation = 0, test = 0;
  std::vector<std::int64_t> position;  // of sample i of the training files
};

// SeparateSplitSizes: the numbers of samples of splits with separate files; the others are taken
// from the training files.
struct SeparateSplitSizes {
  std::optional<std::int64_t> validation, test;
};

// Holds out round(samples * data.split.test) samples first, then data.split.validation of the rest.
// Errors (kInput): a split would be empty.
Result<SplitAssignment> split_samples(const DataConfig& config, std::int64_t samples,
                                      const SeparateSplitSizes& separate);

// Returns the first class from 0 to `classes` - 1 that has no sample in the training split.
// REQUIRES: 0 <= label < classes.
std::optional<int> class_without_images(const SplitAssignment& assignment,
                                        std::span<const std::int32_t> labels, int classes);

}  // namespace detol::inline trainer
