#include "trainer/backends/cpu/relayout.h"

#include <algorithm>

namespace detol::inline trainer::cpu {
namespace {

// Calls visit(offset in plain, offset in blocked, channels of the block) per image and block.
template <typename Visit>
void for_blocks(const Relayout& copy, Visit visit) {
  const std::int64_t positions = copy.shape.height * copy.shape.width;
  const std::int64_t channels = copy.shape.channels;
  std::int64_t block = 0;
  for (std::int64_t n = 0; n < copy.images; ++n) {
    for (std::int64_t c = 0; c < channels; c += copy.lanes, ++block) {
      visit((n * channels + c) * positions, block * positions * copy.lanes,
            std::min(copy.lanes, channels - c));
    }
  }
}

}  // namespace

void to_blocked(const Relayout& copy, const float* plain, float* blocked) {
  const std::int64_t positions = copy.shape.height * copy.shape.width;
  for_blocks(copy, [&](std::int64_t from, std::int64_t to, std::int64_t channels) {
    for (std::int64_t p = 0; p < positions; ++p) {
      float* lanes = blocked + to + p * copy.lanes;
      for (std::int64_t c = 0; c < channels; ++c) lanes[c] = plain[from + c * positions + p];
      std::fill(lanes + channels, lanes + copy.lanes, 0.0f);
    }
  });
}

void to_plain(const Relayout& copy, const float* blocked, float* plain) {
  const std::int64_t positions = copy.shape.height * copy.shape.width;
  for_blocks(copy, [&](std::int64_t to, std::int64_t from, std::int64_t channels) {
    for (std::int64_t p = 0; p < positions; ++p) {
      const float* lanes = blocked + from + p * copy.lanes;
      for (std::int64_t c = 0; c < channels; ++c) plain[to + c * positions + p] = lanes[c];
    }
  });
}

}  // namespace detol::inline trainer::cpu
