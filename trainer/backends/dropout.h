#pragma once

// Dropout masks, drawn from a counter-based stream so that every backend drops the same elements in
// any layout and order, and a resumed step draws the same mask as the interrupted one.
//
// 16 bits decide an element, which resolves a rate to 1.5e-5. Channels go in groups of eight, whose
// bits are one block of the stream (Philox 4x32-10 of `key`, as in core/rng.h): group k of position
// p of image n of the whole batch has block (n P + p) G + k, where P and G are the positions and
// the groups of an image; its first channel has the lowest bits of the block's first word.

#include <cstdint>
#include <span>

#include "encodings/network/network.h"

namespace detol::inline trainer {

inline constexpr std::int64_t kDropoutGroup = 8;  // channels

struct DropoutStream {
  std::uint64_t seed = 0;
  std::int64_t step = 0;
  NodeId node = 0;         // of the dropout layer
  std::int64_t first = 0;  // images of the whole batch before the mask's first
};

// DropoutDraw is the key and the threshold of a mask.
struct DropoutDraw {
  std::uint64_t key = 0;
  std::int32_t threshold = 0;  // elements with lower bits are dropped
  float kept = 1;              // factor of the others: 1 / (1 - rate), as resolved
};

// Returns the key and threshold of one mask. REQUIRES: 0 <= rate < 1.
DropoutDraw draw_of(const DropoutStream& stream, double rate);

// Fills `mask` (images x C x H x W, row-major) with 0 with probability `rate`, else 1 / (1 - rate).
void draw_dropout_mask(const DropoutStream& stream, double rate, const Shape& image,
                       std::span<float> mask);

}  // namespace detol::inline trainer
