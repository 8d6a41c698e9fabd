#pragma once

// The product's header of this path, for a host compiler. The first lane of a warp has the whole
// matrix and does all the work: on a device the elements are spread over the lanes, in an order
// that no kernel may rely on.

#include <cassert>

#include "trainer/backends/cuda/kernel.cuh"

namespace detol::inline trainer::cuda {

constexpr int kSide = 16;
constexpr int kMatrix = kSide * kSide;

namespace tensor_core {

inline bool works() {
  return emulated::lane() == 0;
}

// Reads a matrix, or its transpose.
template <typename Row>
void read(float (&to)[kSide][kSide], const Row& row, bool transposes) {
  __syncwarp();
  if (!works()) return;
  for (int i = 0; i < kSide; ++i) {
    for (int half = 0; half < 2; ++half) {
      const Bfloat16* const from = row(i, half);
      assert(reinterpret_cast<std::uintptr_t>(from) % 16 == 0);
      for (int j = 0; j < 8; ++j)
        (transposes ? to[half * 8 + j][i] : to[i][half * 8 + j]) = to_float(from[j]);
    }
  }
}

}  // namespace tensor_core

struct LeftMatrix {
  float values[kSide][kSide];  // rows x inner
};
struct RightMatrix {
  float values[kSide][kSide];  // inner x columns
};
struct ProductSums {
  float values[kSide][kSide];
};

template <typename Row>
void read_matrix(LeftMatrix& to, const Row& row) {
  tensor_core::read(to.values, row, false);
}
template <typename Row>
void read_transposed(LeftMatrix& to, const Row& row) {
  tensor_core::read(to.values, row, true);
}
template <typename Row>
void read_matrix(RightMatrix& to, const Row& row) {
  tensor_core::read(to.values, row, false);
}
template <typename Row>
void read_transposed(RightMatrix& to, const Row& row) {
  tensor_core::read(to.values, row, true);
}

inline void set_to_zero(ProductSums& sums) {
  sums = {};
}

inline void add_product(ProductSums& sums, const LeftMatrix& left, const RightMatrix& right) {
  if (!tensor_core::works()) return;
  for (int i = 0; i < kSide; ++i) {
    for (int k = 0; k < kSide; ++k) {
      for (int j = 0; j < kSide; ++j) sums.values[i][j] += left.values[i][k] * right.values[k][j];
    }
  }
}

template <typename T>
void write_sums(T* to, const ProductSums& sums) {
  if (!tensor_core::works()) return;
  for (int i = 0; i < kSide; ++i) {
    for (int j = 0; j < kSide; ++j) to[i * kSide + j] = rounded<T>(sums.values[i][j]);
  }
}

}  // namespace detol::inline trainer::cuda
