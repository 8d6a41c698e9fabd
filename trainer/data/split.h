#pragma once

// Split: which of the training images are held out for validation. Always the same for the
// same number of images and the same share: a permutation from a constant seed, of which
// the last images are the validation split.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/result.h"
#include "encodings/study/study_config.h"

namespace detol::inline trainer {

struct Split {
  std::int64_t training = 0;
  std::int64_t validation = 0;
  std::vector<std::int64_t> position;  // of image i in the new order; below `training`: trained on
};

// Holds out round(images * share). Errors (kInput): one of the two splits would be empty.
Result<Split> split_training(std::int64_t images, double share);

// Places says where each sample of the training files goes. The splits follow each other: training,
// validation, test.
struct Places {
  std::int64_t training = 0, validation = 0, test = 0;
  std::vector<std::int64_t> position;  // of sample i of the training files
};

// OwnSplits counts the samples of splits that have files of their own; the others are taken from
// the training files.
struct OwnSplits {
  std::optional<std::int64_t> validation, test;
};

// Takes round(samples * data.split.test) out first, then data.split.validation of the rest. Errors
// (kInput): a split would be empty.
Result<Places> split_samples(const DataConfig& config, std::int64_t samples, const OwnSplits& own);

// The first class from 0 to `classes` - 1 that has no sample in the training split.
// REQUIRES: 0 <= label < classes.
std::optional<int> class_without_images(const Places& places, std::span<const std::int32_t> labels,
                                        int classes);

}  // namespace detol::inline trainer
