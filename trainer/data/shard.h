#pragma once

// Shard is a contiguous range of the images of a batch, or of a data set. A value type.

#include <cstdint>

namespace detol::inline trainer {

struct Shard {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

}  // namespace detol::inline trainer
