#pragma once

// Gradients of weights are sums over many pixels: each block of a kernel leaves its part, and a
// second launch adds the parts up in the order of the blocks, so that a run repeats to the bit.

#include "trainer/backends/cuda/kernel.cuh"

namespace detol::inline trainer::cuda {

namespace parts {

constexpr unsigned kAcross = 32;                  // values of a block
constexpr unsigned kShares = kThreads / kAcross;  // threads that share a value

template <typename T>
__global__ void __launch_bounds__(kThreads)
    sum_parts_kernel(const float* parts, unsigned blocks, std::int64_t count, T* out) {
  __shared__ float sums[kShares][kAcross];
  const unsigned value = threadIdx.x % kAcross, share = threadIdx.x / kAcross;
  const std::int64_t at = static_cast<std::int64_t>(blockIdx.x) * kAcross + value;
  float sum = 0;
  if (at < count) {
#pragma unroll 8
    for (unsigned block = share; block < blocks; block += kShares) sum += parts[block * count + at];
  }
  sums[share][value] = sum;
  __syncthreads();
  if (share != 0 || at >= count) return;
  for (unsigned other = 1; other < kShares; ++other) sum += sums[other][value];
  out[at] = rounded<T>(sum);
}

}  // namespace parts

// Adds up `count` values of each of the `blocks` parts, which follow each other in memory.
template <typename T>
void sum_parts(const float* parts, unsigned blocks, std::int64_t count, T* out, Stream stream) {
  const auto grid = static_cast<unsigned>((count + parts::kAcross - 1) / parts::kAcross);
  launch(stream, dim3(grid), kThreads, parts::sum_parts_kernel<T>, parts, blocks, count, out);
}

}  // namespace detol::inline trainer::cuda
