#pragma once

// Batch norm. Sums are in float over a tile of positions, which fits in the first-level cache, and
// in double over tiles: exact enough to follow the double-precision reference.

#include "trainer/backends/cpu/kernels.h"
#include "trainer/backends/cpu/kernels_element.h"
#include "trainer/backends/cpu/lanes.h"

namespace detol::inline trainer::cpu {
namespace {

constexpr std::ptrdiff_t kTile = 256;  // positions: 16 KiB with 16 lanes

typedef double Wide __attribute__((vector_size(DETOL_LANES * sizeof(double))));

Wide wide(Lanes x) {
  return __builtin_convertvector(x, Wide);
}
void store_wide(double* to, Wide value) {
  __builtin_memcpy(to, &value, sizeof(value));
}

struct Tile {
  std::ptrdiff_t first, count;   // floats, positions
  std::ptrdiff_t step = kLanes;  // floats from one position to the next
};

// Calls visit(tile) for each tile of channel block `block`, image by image; images of a single
// position are treated as positions of one image.
template <typename Visit>
inline __attribute__((always_inline)) void for_tiles(const Extent& e, std::ptrdiff_t block,
                                                     Visit visit) {
  const std::ptrdiff_t positions = e.positions();
  const auto in_parts = [&](std::ptrdiff_t first, std::ptrdiff_t count, std::ptrdiff_t step) {
    for (; count > 0; count -= kTile, first += kTile * step)
      visit(Tile{first, count < kTile ? count : kTile, step});
  };
  if (positions == 1) return in_parts(block * kLanes, e.images, e.blocks * kLanes);
  for (std::ptrdiff_t n = 0; n < e.images; ++n)
    in_parts((n * e.blocks + block) * positions * kLanes, positions, kLanes);
}

Lanes squares_of(const float* x, const Tile& tile, Lanes mean) {
  Lanes a{}, b{};
  x += tile.first;
  std::ptrdiff_t i = 0;
  for (; i + 2 <= tile.count; i += 2, x += 2 * tile.step) {
    const Lanes d0 = load(x) - mean;
    const Lanes d1 = load(x + tile.step) - mean;
    a += d0 * d0;
    b += d1 * d1;
  }
  if (i < tile.count) {
    const Lanes d = load(x) - mean;
    a += d * d;
  }
  return a + b;
}

// Computes mean and squared distances of each tile and merges them over tiles (Chan, Golub and
// LeVeque, 1983): no cancellation, one pass over memory.
void norm_statistics(const Extent& e, const float* x, double* mean, double* variance) {
  for (std::ptrdiff_t block = 0; block < e.blocks; ++block) {
    Wide mean_of{}, squares{};
    double seen = 0;
    for_tiles(e, block, [&](const Tile& tile) {
      const auto count = static_cast<double>(tile.count);
      const Lanes tile_mean =
          sum_of(x + tile.first, tile.count, tile.step) * static_cast<float>(1 / count);
      const double weight = count / (seen + count);
      const Wide apart = wide(tile_mean) - mean_of;
      mean_of += apart * weight;
      squares += wide(squares_of(x, tile, tile_mean)) + apart * apart * (seen * weight);
      seen += count;
    });
    store_wide(mean + block * kLanes, mean_of);
    store_wide(variance + block * kLanes, squares / seen);
  }
}

// NormLanes holds the constants of one channel block in registers.
struct NormLanes {
  Lanes mean, scale, beta;
  NormLanes(const NormForward& f, std::ptrdiff_t block)
      : mean(load(f.mean + block * kLanes)),
        scale(load(f.scale + block * kLanes)),
        beta(load(f.beta + block * kLanes)) {}
  Lanes of(Lanes x) const { return (x - mean) * scale + beta; }
};

template <bool kAddend, bool kRelu>
void norm_forward_as(const NormForward& f) {
  for (std::ptrdiff_t block = 0; block < f.extent.blocks; ++block) {
    const NormLanes lanes(f, block);
    for_tiles(f.extent, block, [&](const Tile& tile) {
      for (std::ptrdiff_t i = 0; i < tile.count; ++i) {
        const std::ptrdiff_t at = tile.first + i * tile.step;
        Lanes y = lanes.of(load(f.x + at));
        if constexpr (kAddend) y += load(f.addend + at);
        if constexpr (kRelu) y = value_of<Activation::kRelu>(y);
        store(f.y + at, y);
      }
    });
  }
}

void norm_forward(const NormForward& f) {
  if (f.addend != nullptr)
    return f.relu ? norm_forward_as<true, true>(f) : norm_forward_as<true, false>(f);
  return f.relu ? norm_forward_as<false, true>(f) : norm_forward_as<false, false>(f);
}

enum class Mask { kNone, kFromOutput, kFromInput };

template <Mask kMask>
inline __attribute__((always_inline)) Lanes masked(Lanes g, const NormForward& f,
                                                   const NormLanes& lanes, Lanes x,
                                                   std::ptrdiff_t at) {
  if constexpr (kMask == Mask::kFromOutput) return load(f.y + at) > 0.0f ? g : Lanes{};
  if constexpr (kMask == Mask::kFromInput) return lanes.of(x) > 0.0f ? g : Lanes{};
  return g;
}

template <Mask kMask, bool kOther, bool kStore>
void norm_sums_as(const NormSums& s) {
  const NormForward& f = s.forward;
  for (std::ptrdiff_t block = 0; block < f.extent.blocks; ++block) {
    const NormLanes lanes(f, block);
    Wide sum{}, moment{};
    for_tiles(f.extent, block, [&](const Tile& tile) {
      Lanes tile_sum{}, tile_moment{};
      for (std::ptrdiff_t i = 0; i < tile.count; ++i) {
        const std::ptrdiff_t at = tile.first + i * tile.step;
        const Lanes x = load(f.x + at);
        Lanes g = load(s.term + at);
        if constexpr (kOther) g += load(s.other + at);
        g = masked<kMask>(g, f, lanes, x, at);
        if constexpr (kStore) store(s.g + at, g);
        tile_sum += g;
        tile_moment += g * (x - lanes.mean);
      }
      sum += wide(tile_sum);
      moment += wide(tile_moment);
    });
    store_wide(s.sum + block * kLanes, sum);
    store_wide(s.moment + block * kLanes, moment);
  }
}

template <Mask kMask>
void norm_sums_masked(const NormSums& s) {
  if (s.other != nullptr) return norm_sums_as<kMask, true, true>(s);
  return s.g != nullptr ? norm_sums_as<kMask, false, true>(s)
                        : norm_sums_as<kMask, false, false>(s);
}

// Computes the sums with the mask that fits. REQUIRES: s.g is not null if s.other is not.
void norm_sums(const NormSums& s) {
  if (!s.forward.relu) return norm_sums_masked<Mask::kNone>(s);
  if (s.forward.addend != nullptr) return norm_sums_masked<Mask::kFromOutput>(s);
  return norm_sums_masked<Mask::kFromInput>(s);
}

template <Mask kMask>
void norm_backward_as(const NormBackward& b) {
  const NormForward& f = b.forward;
  for (std::ptrdiff_t block = 0; block < f.extent.blocks; ++block) {
    const NormLanes lanes(f, block);
    const Lanes mean_g = load(b.mean_g + block * kLanes), slope = load(b.slope + block * kLanes);
    for_tiles(f.extent, block, [&](const Tile& tile) {
      for (std::ptrdiff_t i = 0; i < tile.count; ++i) {
        const std::ptrdiff_t at = tile.first + i * tile.step;
        const Lanes x = load(f.x + at);
        const Lanes g = masked<kMask>(load(b.g + at), f, lanes, x, at);
        store(b.dx + at, lanes.scale * (g - mean_g - (x - lanes.mean) * slope));
      }
    });
  }
}

void norm_backward(const NormBackward& b) {
  if (!b.forward.relu) return norm_backward_as<Mask::kNone>(b);
  return norm_backward_as<Mask::kFromInput>(b);
}

}  // namespace
}  // namespace detol::inline trainer::cpu
