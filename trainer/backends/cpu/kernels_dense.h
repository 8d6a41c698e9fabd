#pragma once

// Dense layers over plain vectors: three products of one kind, in tiles that stay in registers.
//
//   forward   y (images x outputs) = x W^T + bias      depth: inputs
//   backward  dx (images x inputs) = g W               depth: outputs
//   weights   dW^T (inputs x outputs) = x^T g          depth: images
//
// A tile is four to six rows (twice as many with 16 lanes) by up to three registers of columns. On
// a virtual machine the number of instructions per multiplication matters as much as memory: so
// strides are constants, the loop is unrolled and a tile is as wide as possible. 4 x 3, unrolled,
// takes four fifths of the time of 6 x 2, not unrolled (784 x 256, batch 64, measured alternately).
// A hyperthread on the same core may explain it; this was not verified.
//
// The columns of a block of depth, which are read again for all rows, stay in the first-level
// cache (kDenseDepth: 24 KB), and are contiguous: with a large power of two from one line to the
// next they would compete for a few cache sets. Weights are blocks of outputs x inputs x outputs of
// a block, so that forward and the weights' gradient use them as they are; backward transposes a
// few at a time.

#include "trainer/backends/cpu/kernels.h"
#include "trainer/backends/cpu/lanes.h"

namespace detol::inline trainer::cpu {
namespace {

// Left factor: one value for each row and step in depth.
struct Left {
  const float* at;
  std::ptrdiff_t row;
};
// Right factor: one register of columns for each block and step in depth.
struct Right {
  const float* at;
  std::ptrdiff_t block;
};
struct Product {
  float* at;
  std::ptrdiff_t row, block;
};

// A register's floats in plain memory, at any alignment of 4 bytes.
typedef float UnalignedLanes __attribute__((vector_size(DETOL_LANES * sizeof(float)), aligned(4)));

inline Lanes load_some(const float* from, std::ptrdiff_t count) {
  if (count >= kLanes) return *reinterpret_cast<const UnalignedLanes*>(from);
  Lanes some = {};
  for (std::ptrdiff_t i = 0; i < kLanes; ++i) {
    if (i < count) some[i] = from[i];
  }
  return some;
}
inline void store_some(float* to, Lanes value, std::ptrdiff_t count) {
  if (count >= kLanes) {
    *reinterpret_cast<UnalignedLanes*>(to) = value;
    return;
  }
  for (std::ptrdiff_t i = 0; i < kLanes; ++i) {
    if (i < count) to[i] = value[i];
  }
}

// Adds kHeight x kColumns registers of the product to `start`, or to `y` if `start` is null; only
// `columns` lanes of the last block are used.
template <std::ptrdiff_t kHeight, int kColumns, std::ptrdiff_t kLeftStep, std::ptrdiff_t kRightStep>
inline __attribute__((always_inline)) void dense_tile(Left left, Right right, std::ptrdiff_t depth,
                                                      const float* start, Product y,
                                                      std::ptrdiff_t columns) {
  constexpr std::ptrdiff_t kGroups = (kHeight + 2) / 3;
  Lanes sum[kHeight][kColumns];
  const auto count = [=](int c) { return c + 1 < kColumns ? kLanes : columns; };
  for (std::ptrdiff_t r = 0; r < kHeight; ++r) {
    for (int c = 0; c < kColumns; ++c) {
      sum[r][c] = start != nullptr ? load(start + c * kLanes)
                                   : load_some(y.at + r * y.row + c * y.block, count(c));
    }
  }
  // Fetches the next columns of these rows, too far apart for the hardware prefetcher.
  for (std::ptrdiff_t r = 0; r < kHeight; ++r)
    __builtin_prefetch(y.at + r * y.row + kColumns * kLanes, 1);
  const float* rows[kGroups];  // few pointers, so that all of them stay in registers
  for (std::ptrdiff_t g = 0; g < kGroups; ++g) rows[g] = left.at + 3 * g * left.row;
#pragma GCC unroll 4
  for (std::ptrdiff_t k = 0; k < depth; ++k, right.at += kRightStep) {
    Lanes column[kColumns];
    for (int c = 0; c < kColumns; ++c) column[c] = load(right.at + c * right.block);
    for (std::ptrdiff_t r = 0; r < kHeight; ++r) {
      const Lanes value = all(rows[r / 3][r % 3 * left.row]);
      for (int c = 0; c < kColumns; ++c) sum[r][c] = multiply_add(value, column[c], sum[r][c]);
    }
    for (std::ptrdiff_t g = 0; g < kGroups; ++g) rows[g] += kLeftStep;
  }
  for (std::ptrdiff_t r = 0; r < kHeight; ++r) {
    for (int c = 0; c < kColumns; ++c)
      store_some(y.at + r * y.row + c * y.block, sum[r][c], count(c));
  }
}

// Computes `height` rows, at most kHeight.
template <std::ptrdiff_t kHeight, int kColumns, std::ptrdiff_t kLeftStep, std::ptrdiff_t kRightStep>
inline __attribute__((always_inline)) void dense_rest(std::ptrdiff_t height, Left left, Right right,
                                                      std::ptrdiff_t depth, const float* start,
                                                      Product y, std::ptrdiff_t columns) {
  if constexpr (kHeight > 1) {
    if (height < kHeight)
      return dense_rest<kHeight - 1, kColumns, kLeftStep, kRightStep>(height, left, right, depth,
                                                                      start, y, columns);
  }
  dense_tile<kHeight, kColumns, kLeftStep, kRightStep>(left, right, depth, start, y, columns);
}

// Computes all rows of kColumns registers of columns.
template <int kColumns, std::ptrdiff_t kLeftStep, std::ptrdiff_t kRightStep>
__attribute__((noinline)) void dense_columns(std::ptrdiff_t height, Left left, Right right,
                                             std::ptrdiff_t depth, const float* start, Product y,
                                             std::ptrdiff_t columns) {
  constexpr std::ptrdiff_t kHeight = kColumns == 3 ? kRows * 2 / 3 : kRows;
  for (; height > 0; height -= kHeight) {
    dense_rest<kHeight, kColumns, kLeftStep, kRightStep>(height < kHeight ? height : kHeight, left,
                                                         right, depth, start, y, columns);
    left.at += kHeight * left.row;
    y.at += kHeight * y.row;
  }
}

// Returns how many registers of the remaining `columns` to compute next: one only if one remains.
inline std::ptrdiff_t registers_of(std::ptrdiff_t columns) {
  const std::ptrdiff_t registers = (columns + kLanes - 1) / kLanes;
  if (registers == 1) return 1;
  return registers == 2 || registers == 4 ? 2 : 3;
}

// Computes `columns` columns, which fill one to three registers.
template <std::ptrdiff_t kLeftStep, std::ptrdiff_t kRightStep>
inline void dense_product(std::ptrdiff_t height, std::ptrdiff_t columns, Left left, Right right,
                          std::ptrdiff_t depth, const float* start, Product y) {
  if (columns > 2 * kLanes)
    return dense_columns<3, kLeftStep, kRightStep>(height, left, right, depth, start, y,
                                                   columns - 2 * kLanes);
  if (columns > kLanes)
    return dense_columns<2, kLeftStep, kRightStep>(height, left, right, depth, start, y,
                                                   columns - kLanes);
  dense_columns<1, kLeftStep, kRightStep>(height, left, right, depth, start, y, columns);
}

constexpr Lanes kZeros[3] = {};
inline const float* zeros() {
  return reinterpret_cast<const float*>(kZeros);
}

// Returns where part number `part` of `parts` of `whole` begins.
inline std::ptrdiff_t part_start(std::ptrdiff_t whole, std::ptrdiff_t parts, std::ptrdiff_t part) {
  return whole * part / parts;
}

void dense(const DenseShape& s, const float* x, const float* w, const float* bias, float* y) {
  const std::ptrdiff_t parts = (s.inputs + kDenseDepth - 1) / kDenseDepth;
  for (std::ptrdiff_t part = 0; part < parts; ++part) {
    const std::ptrdiff_t first = part_start(s.inputs, parts, part);
    const std::ptrdiff_t depth = part_start(s.inputs, parts, part + 1) - first;
    for (std::ptrdiff_t o = 0, columns; o < s.outputs; o += columns) {
      columns = registers_of(s.outputs - o) * kLanes;
      if (columns > s.outputs - o) columns = s.outputs - o;
      const float* start = part > 0 ? nullptr : bias != nullptr ? bias + o : zeros();
      dense_product<1, kLanes>(s.images, columns, {x + first, s.inputs},
                               {w + o * s.inputs + first * kLanes, s.inputs * kLanes}, depth, start,
                               {y + o, s.outputs, kLanes});
    }
  }
}

// Exchanges the off-diagonal blocks of 2 x 2 blocks of kDistance x kDistance.
template <int kDistance, int... kLane>
inline void exchange(Lanes& a, Lanes& b, std::integer_sequence<int, kLane...>) {
  const Lanes low = __builtin_shufflevector(
      a, b, ((kLane & kDistance) != 0 ? DETOL_LANES + kLane - kDistance : kLane)...);
  b = __builtin_shufflevector(
      a, b, ((kLane & kDistance) != 0 ? DETOL_LANES + kLane : kLane + kDistance)...);
  a = low;
}

// Transposes kLanes x kLanes values.
template <int kDistance>
inline void transpose(Lanes values[kLanes]) {
  for (int i = 0; i < DETOL_LANES; ++i) {
    if ((i & kDistance) == 0)
      exchange<kDistance>(values[i], values[i + kDistance],
                          std::make_integer_sequence<int, DETOL_LANES>());
  }
  if constexpr (kDistance > 1) transpose<kDistance / 2>(values);
}

// Writes the weights of inputs [first, first + columns) and `depth` outputs from block `block` on
// as outputs x three registers of inputs; the rest of the last register is zero.
void transpose_weights(const DenseShape& s, const float* w, std::ptrdiff_t first,
                       std::ptrdiff_t columns, std::ptrdiff_t block, std::ptrdiff_t depth,
                       float* to) {
  for (std::ptrdiff_t o = 0; o < depth; o += kLanes, ++block) {
    const float* from = w + (block * s.inputs + first) * kLanes;
    for (std::ptrdiff_t part = 0; part < 3 && part * kLanes < columns; ++part) {
      Lanes values[kLanes];
      for (std::ptrdiff_t i = 0; i < kLanes; ++i) {
        const std::ptrdiff_t input = part * kLanes + i;
        values[i] = input < columns ? load(from + input * kLanes) : Lanes{};
      }
      transpose<DETOL_LANES / 2>(values);
      for (std::ptrdiff_t i = 0; i < kLanes; ++i)
        store(to + ((o + i) * 3 + part) * kLanes, values[i]);
    }
  }
}

void dense_backward(const DenseShape& s, const float* g, const float* w, float* dx,
                    float* scratch) {
  const std::ptrdiff_t blocks = (s.outputs + kLanes - 1) / kLanes;
  const std::ptrdiff_t parts = (blocks * kLanes + kDenseDepth - 1) / kDenseDepth;
  for (std::ptrdiff_t part = 0; part < parts; ++part) {
    const std::ptrdiff_t block = part_start(blocks, parts, part);
    const std::ptrdiff_t first = block * kLanes;
    const std::ptrdiff_t end = part_start(blocks, parts, part + 1) * kLanes;
    const std::ptrdiff_t depth = (end < s.outputs ? end : s.outputs) - first;
    for (std::ptrdiff_t k = 0, columns; k < s.inputs; k += columns) {
      columns = registers_of(s.inputs - k) * kLanes;
      if (columns > s.inputs - k) columns = s.inputs - k;
      transpose_weights(s, w, k, columns, block, depth, scratch);
      dense_product<1, 3 * kLanes>(s.images, columns, {g + first, s.outputs}, {scratch, kLanes},
                                   depth, part > 0 ? nullptr : zeros(), {dx + k, s.inputs, kLanes});
    }
  }
}

// Copies images x outputs to blocks of registers: blocks x images x lanes.
void gather_blocks(const float* from, std::ptrdiff_t images, std::ptrdiff_t columns, float* to) {
  for (std::ptrdiff_t c = 0; c < columns; c += kLanes) {
    for (std::ptrdiff_t i = 0; i < images; ++i, to += kLanes)
      store(to, load_some(from + i * columns + c, columns - c));
  }
}

void add_rows(const float* g, std::ptrdiff_t images, std::ptrdiff_t columns, float* sum) {
  for (std::ptrdiff_t c = 0; c < columns; ++c) sum[c] = 0;
  for (std::ptrdiff_t i = 0; i < images; ++i, g += columns) {
    for (std::ptrdiff_t c = 0; c < columns; ++c) sum[c] += g[c];
  }
}

void dense_weights(const DenseShape& s, const float* x, const float* g, float* dw, float* dbias,
                   float* scratch) {
  if (dbias != nullptr) add_rows(g, s.images, s.outputs, dbias);
  float* part_of_x = scratch;
  float* blocks_of_g = scratch + kDenseImages * kDenseInputs;
  for (std::ptrdiff_t i = 0; i < s.images; i += kDenseImages) {
    const std::ptrdiff_t depth = s.images - i < kDenseImages ? s.images - i : kDenseImages;
    gather_blocks(g + i * s.outputs, depth, s.outputs, blocks_of_g);
    for (std::ptrdiff_t k = 0; k < s.inputs; k += kDenseInputs) {
      const std::ptrdiff_t height = s.inputs - k < kDenseInputs ? s.inputs - k : kDenseInputs;
      for (std::ptrdiff_t image = 0; image < depth; ++image) {
        for (std::ptrdiff_t r = 0; r < height; ++r)
          part_of_x[image * kDenseInputs + r] = x[(i + image) * s.inputs + k + r];
      }
      for (std::ptrdiff_t o = 0, columns; o < s.outputs; o += columns) {
        // Computes whole registers: missing outputs have no gradient, and their weights stay zero.
        columns = registers_of(s.outputs - o) * kLanes;
        dense_product<kDenseInputs, kLanes>(
            height, columns, {part_of_x, 1}, {blocks_of_g + o * depth, depth * kLanes}, depth,
            i > 0 ? nullptr : zeros(), {dw + o * s.inputs + k * kLanes, kLanes, s.inputs * kLanes});
      }
    }
  }
}

}  // namespace
}  // namespace detol::inline trainer::cpu
