#pragma once

// Split: which of the training images are held out for validation. Always the same for the
// same number of images and the same share: a permutation from a constant seed, of which
// the last images are the validation part.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/result.h"

namespace detol {

struct Split {
  std::int64_t training = 0;
  std::int64_t validation = 0;
  std::vector<std::int64_t> position;  // of image i in the new order; below `training`: trained on
};

// Holds out round(images * share). Errors (kInput): one of the two parts would be empty.
Result<Split> split_training(std::int64_t images, double share);

// The first class from 0 to `classes` - 1 that has no image in the training part.
std::optional<int> class_without_images(const Split& split, std::span<const std::uint8_t> labels,
                                        int classes);

}  // namespace detol
