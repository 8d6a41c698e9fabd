#pragma once

// Products of 16 x 16 matrices of bfloat16 on tensor cores, added up in floats. The 32 threads of a
// warp share a matrix and make the same calls. A matrix is read from shared memory in rows of two
// halves of 8 elements: row(i, half) returns where half of row i is, a multiple of 16 bytes. (PTX
// ISA, "ldmatrix" and "mma.m16n8k16", whose fragments these are.)
//
// The emulated device has a header of the same path and the same declarations.

#include "trainer/backends/cuda/kernel.cuh"

namespace detol::inline trainer::cuda {

constexpr int kSide = 16;               // of a matrix
constexpr int kMatrix = kSide * kSide;  // elements

struct LeftMatrix {
  unsigned words[4];
};
struct RightMatrix {
  unsigned words[4];  // two for each half of the columns
};
struct ProductSums {
  float values[8];  // four for each half of the columns
};

namespace tensor_core {

__device__ inline unsigned lane() {
  return threadIdx.x % kWarp;
}

// Reads four 8 x 8 blocks: rows 0 to 7 and 8 to 15 of the first halves, then of the second ones.
template <bool kTransposes, typename Row>
__device__ void read(unsigned (&words)[4], const Row& row) {
  const auto at = static_cast<unsigned>(__cvta_generic_to_shared(
      row(static_cast<int>(lane() % kSide), static_cast<int>(lane() / kSide))));
  if constexpr (kTransposes)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "r"(at)
                 : "memory");
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                 : "r"(at)
                 : "memory");
}

__device__ inline void multiply(float* sums, const unsigned (&a)[4], unsigned b0, unsigned b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
      "{%8, %9}, {%0, %1, %2, %3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Calls visit(row, column, first) for the pairs of neighbours that this thread has: values[first]
// and the next.
template <typename Visit>
__device__ void for_pairs(const Visit& visit) {
  const auto row = static_cast<int>(lane() / 4), column = static_cast<int>(lane() % 4) * 2;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    visit(row, half * 8 + column, half * 4);
    visit(row + 8, half * 8 + column, half * 4 + 2);
  }
}

}  // namespace tensor_core

// In memory: rows x inner.
template <typename Row>
__device__ void read_matrix(LeftMatrix& to, const Row& row) {
  tensor_core::read<false>(to.words, row);
}
// In memory: inner x rows.
template <typename Row>
__device__ void read_transposed(LeftMatrix& to, const Row& row) {
  unsigned words[4];
  tensor_core::read<true>(words, row);
  to = {{words[0], words[2], words[1], words[3]}};
}
// In memory: inner x columns.
template <typename Row>
__device__ void read_matrix(RightMatrix& to, const Row& row) {
  tensor_core::read<true>(to.words, row);
}
// In memory: columns x inner.
template <typename Row>
__device__ void read_transposed(RightMatrix& to, const Row& row) {
  unsigned words[4];
  tensor_core::read<false>(words, row);
  to = {{words[0], words[2], words[1], words[3]}};
}

__device__ inline void set_to_zero(ProductSums& sums) {
#pragma unroll
  for (float& value : sums.values) value = 0;
}

// sums += left right
__device__ inline void add_product(ProductSums& sums, const LeftMatrix& left,
                                   const RightMatrix& right) {
  tensor_core::multiply(sums.values, left.words, right.words[0], right.words[1]);
  tensor_core::multiply(sums.values + 4, left.words, right.words[2], right.words[3]);
}

// Write the sums in rows of 16, to floats or rounded. The caller waits for the warp before others
// read them.
__device__ inline void write_sums(float* to, const ProductSums& sums) {
  tensor_core::for_pairs([&](int row, int column, int first) {
    *reinterpret_cast<float2*>(to + row * kSide + column) =
        make_float2(sums.values[first], sums.values[first + 1]);
  });
}
__device__ inline void write_sums(Bfloat16* to, const ProductSums& sums) {
  tensor_core::for_pairs([&](int row, int column, int first) {
    *reinterpret_cast<__nv_bfloat162*>(to + row * kSide + column) =
        __floats2bfloat162_rn(sums.values[first], sums.values[first + 1]);
  });
}

}  // namespace detol::inline trainer::cuda
