#pragma once

// EpochImage: the draws by which a device makes an image of a batch. A value type.

#include <cstdint>

namespace detol::inline trainer {

// A training image of an epoch: its index and its augmentation (data/augment.h, data/mixup.h).
struct EpochImage {
  std::int32_t image = 0;            // index in the data set
  std::int32_t down = 0, right = 0;  // of the window's corner
  std::int32_t mirrored = 0;         // 1: left and right swapped, after the crop
  std::int32_t top = 0, left = 0;    // of the hidden square, if the recipe has one
  std::int32_t partner = 0;          // position in the batch of the image that is blended in,
  float share = 0;                   // and its share
};

}  // namespace detol::inline trainer
