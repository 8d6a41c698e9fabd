#pragma once

// Two sums per channel over the rows of a tensor, in one launch.
//
// A block is `across` packs of channels wide and kThreads / across rows high. Its threads go down
// the rows, add up in a tree, and write the block's sums to memory. The block that finishes last in
// a column of blocks adds those up, in double and in the order of the blocks, and passes each
// channel's two sums to Finish: no second launch, and the same bits in every run
// (Harris, "Optimizing parallel reduction in CUDA"; the last block as in CUDA's
// threadFenceReduction sample).
//
// Term has State begin(group) and operator()(state, row, group, a, b), which adds the values of a
// row to the two packs of sums, a and b.

#include "trainer/backends/cuda/kernel.cuh"

namespace detol::inline trainer::cuda {

struct SumsShape {
  std::int64_t rows = 0;
  unsigned groups = 1;  // packs of a row
  unsigned across = 1;  // packs that a block is wide
};

struct SumsScratch {
  unsigned* counters = nullptr;  // one per column of blocks; zero between launches
  float* sums = nullptr;         // blocks x channels x 2
};

inline constexpr unsigned kMostAcross = 32;
inline constexpr unsigned kCounterBytes = 256;  // the counters take a multiple of this

inline unsigned columns_of(std::int64_t channels) {
  const auto groups = static_cast<unsigned>(channels / kLanes);
  return (groups + kMostAcross - 1) / kMostAcross;
}

inline unsigned most_blocks_down(unsigned columns) {
  return std::max(1U, 4U * static_cast<unsigned>(device().multiprocessors) / columns);
}

inline std::size_t counter_bytes(unsigned columns) {
  return (columns * sizeof(unsigned) + kCounterBytes - 1) / kCounterBytes * kCounterBytes;
}

namespace sums {

// Adds the values of all rows of threads to those of the first row: values[k][thread].
template <typename Real>
__device__ void add_down(Real* values, unsigned x, unsigned y, unsigned across, unsigned down) {
  unsigned half = 1;
  while (half < down) half *= 2;
  for (half /= 2; half > 0; half /= 2) {
    __syncthreads();
    if (y < half && y + half < down) {
      for (int k = 0; k < 2 * kLanes; ++k)
        values[k * kThreads + y * across + x] += values[k * kThreads + (y + half) * across + x];
    }
  }
  __syncthreads();
}

// Returns true in all threads of the block that finishes last in its column.
__device__ inline bool is_last(unsigned* counters) {
  __shared__ bool last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    last = atomicAdd(&counters[blockIdx.x], 1U) == gridDim.y - 1;
    if (last) counters[blockIdx.x] = 0;
  }
  __syncthreads();
  __threadfence();
  return last;
}

template <typename Term, typename Finish>
__global__ void __launch_bounds__(kThreads)
    column_sums_kernel(SumsShape shape, Term term, Finish finish, SumsScratch scratch) {
  __shared__ double shared[2 * kLanes * kThreads];
  const unsigned down = kThreads / shape.across;  // rows of a block
  const unsigned x = threadIdx.x % shape.across, y = threadIdx.x / shape.across;
  const unsigned group = blockIdx.x * shape.across + x;
  const bool works = y < down && group < shape.groups;
  Lanes a = zeros(), b = zeros();
  if (works) {
    const auto state = term.begin(group);
    const std::int64_t stride = static_cast<std::int64_t>(gridDim.y) * down;
    for (std::int64_t row = static_cast<std::int64_t>(blockIdx.y) * down + y; row < shape.rows;
         row += stride)
      term(state, row, group, a, b);
  }
  auto* floats = reinterpret_cast<float*>(shared);
  for (int k = 0; k < kLanes; ++k) {
    floats[k * kThreads + threadIdx.x] = a[k];
    floats[(kLanes + k) * kThreads + threadIdx.x] = b[k];
  }
  add_down(floats, x, y, shape.across, down);
  const std::int64_t width = static_cast<std::int64_t>(shape.groups) * kLanes * 2;
  if (works && y == 0) {
    for (int k = 0; k < 2 * kLanes; ++k)
      scratch.sums[blockIdx.y * width + group * 2 * kLanes + k] = floats[k * kThreads + x];
  }
  if (!is_last(scratch.counters)) return;
  for (int k = 0; k < 2 * kLanes; ++k) {
    double sum = 0;
    for (unsigned block = y; works && block < gridDim.y; block += down)
      sum += static_cast<double>(scratch.sums[block * width + group * 2 * kLanes + k]);
    shared[k * kThreads + threadIdx.x] = sum;
  }
  add_down(shared, x, y, shape.across, down);
  if (!works || y != 0) return;
  for (int k = 0; k < kLanes; ++k)
    finish(group * static_cast<unsigned>(kLanes) + static_cast<unsigned>(k),
           shared[k * kThreads + x], shared[(kLanes + k) * kThreads + x]);
}

}  // namespace sums

// Calls finish(channel, sum of a, sum of b) for every channel. REQUIRES: `scratch` has
// sums_scratch_bytes() bytes, and its counters are zero.
template <typename Term, typename Finish>
void column_sums(std::int64_t rows, std::int64_t channels, const Term& term, const Finish& finish,
                 void* scratch, Stream stream) {
  const auto groups = static_cast<unsigned>(channels / kLanes);
  const unsigned columns = columns_of(channels);
  const SumsShape shape{rows, groups, std::min(groups, kMostAcross)};
  const std::int64_t down = kThreads / shape.across;
  constexpr std::int64_t kRowsOfAThread = 4;
  const std::int64_t wanted = (rows + down * kRowsOfAThread - 1) / (down * kRowsOfAThread);
  const auto blocks =
      static_cast<unsigned>(std::clamp<std::int64_t>(wanted, 1, most_blocks_down(columns)));
  auto* bytes = static_cast<std::byte*>(scratch);
  const SumsScratch partial{reinterpret_cast<unsigned*>(bytes),
                            reinterpret_cast<float*>(bytes + counter_bytes(columns))};
  launch(stream, dim3(columns, blocks), kThreads, sums::column_sums_kernel<Term, Finish>, shape,
         term, finish, partial);
}

}  // namespace detol::inline trainer::cuda
