#pragma once

// EpochImage tells a device how to make an image of a batch. A value type.

#include <cstdint>

namespace detol::inline trainer {

// A training image of an epoch: which it is, and how it is looked at (data/augment.h,
// data/mixup.h).
struct EpochImage {
  std::int32_t image = 0;            // of the data set
  std::int32_t down = 0, right = 0;  // of the window's corner
  std::int32_t mirrored = 0;         // 1: left and right swapped, after the crop
  std::int32_t top = 0, left = 0;    // of the hidden square, if the recipe has one
  std::int32_t partner = 0;          // its place in the batch, of the image that is blended in,
  float share = 0;                   // and its share
};

}  // namespace detol::inline trainer
