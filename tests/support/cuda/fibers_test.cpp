#include <array>
#include <vector>

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include "tests/support/cuda/emulated.h"

namespace detol::emulated {
namespace {

class Kernels : public Emulated {};

__global__ void number(unsigned* out) {
  const unsigned block = blockIdx.y * gridDim.x + blockIdx.x;
  const unsigned thread = threadIdx.y * blockDim.x + threadIdx.x;
  out[block * blockDim.x * blockDim.y + thread] += block * 1000 + thread;
}

TEST_F(Kernels, RunOncePerThreadOfTheGrid) {
  const OnDevice<unsigned> out(std::vector<unsigned>(6 * 20));
  run(dim3(2, 3), dim3(5, 4), number, out.data());
  const std::vector<unsigned> is = out.read();
  for (unsigned i = 0; i < is.size(); ++i) EXPECT_EQ(is[i], i / 20 * 1000 + i % 20);
}

__global__ void reverse(int* values) {
  __shared__ int shared[100];
  shared[threadIdx.x] = values[threadIdx.x];
  __syncthreads();
  values[threadIdx.x] = shared[blockDim.x - 1 - threadIdx.x];
}

TEST_F(Kernels, WaitForTheirBlock) {
  std::vector<int> values(100);
  for (int i = 0; i < 100; ++i) values[static_cast<std::size_t>(i)] = i;
  const OnDevice<int> on_device(values);
  run(1, 100, reverse, on_device.data());
  for (int i = 0; i < 100; ++i) EXPECT_EQ(on_device.read()[static_cast<std::size_t>(i)], 99 - i);
}

// The usual sum of a block: each warp by shuffles, then the first warp alone over the warps.
__global__ void sum_of_block(const float* values, double* sum) {
  __shared__ double partial[8];
  double own = values[blockIdx.x * blockDim.x + threadIdx.x];
  for (int by = 16; by > 0; by /= 2) own += __shfl_xor_sync(0xffffffffU, own, by);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = own;
  __syncthreads();
  if (threadIdx.x >= 32) return;
  own = threadIdx.x < 8 ? partial[threadIdx.x] : 0;
  for (unsigned by = 4; by > 0; by /= 2) own += __shfl_down_sync(0xffffffffU, own, by);
  if (threadIdx.x == 0) atomicAdd(sum, own);
}

TEST_F(Kernels, ShuffleInOneWarpOnly) {
  std::vector<float> values(4 * 256);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  const OnDevice<float> in(values);
  const OnDevice<double> sum(std::vector<double>(1));
  run(4, 256, sum_of_block, in.data(), sum.data());
  EXPECT_EQ(sum.read()[0], 1024.0 * 1023 / 2);
}

__global__ void shuffles(int* out) {
  const int own = static_cast<int>(threadIdx.x);
  out[own] = __shfl_sync(0xffffffffU, own, 5);
  out[32 + own] = __shfl_sync(0xffffffffU, own, 1, 8);
  out[64 + own] = __shfl_down_sync(0xffffffffU, own, 3, 16);
  out[96 + own] = __shfl_up_sync(0xffffffffU, own, 1);
  out[128 + own] = static_cast<int>(__ballot_sync(0xffffffffU, own < 3));
  if (own < 4) out[160 + own] = __shfl_xor_sync(0xfU, own, 1);
}

TEST_F(Kernels, ShuffleAsTheProgrammingGuideSays) {
  const OnDevice<int> out(std::vector<int>(192));
  run(1, 32, shuffles, out.data());
  const std::vector<int> is = out.read();
  for (int i = 0; i < 32; ++i) {
    const auto at = static_cast<std::size_t>(i);
    EXPECT_EQ(is[at], 5);
    EXPECT_EQ(is[32 + at], i / 8 * 8 + 1);
    EXPECT_EQ(is[64 + at], i % 16 + 3 < 16 ? i + 3 : i);
    EXPECT_EQ(is[96 + at], i == 0 ? 0 : i - 1);
    EXPECT_EQ(is[128 + at], 7);
    EXPECT_EQ(is[160 + at], i < 4 ? i ^ 1 : 0);
  }
}

// The last block to arrive sets its elements of `is_last`.
__global__ void last_block(unsigned* arrived, int* is_last) {
  __shared__ bool last;
  if (threadIdx.x == 0) last = atomicInc(arrived, gridDim.x - 1) == gridDim.x - 1;
  __syncthreads();
  if (last) is_last[blockIdx.x * blockDim.x + threadIdx.x] = 1;
}

TEST_F(Kernels, HaveALastBlock) {
  const OnDevice<unsigned> arrived(std::vector<unsigned>(1));
  const OnDevice<int> is_last(std::vector<int>(3 * 64));
  run(3, 64, last_block, arrived.data(), is_last.data());
  EXPECT_EQ(arrived.read()[0], 0U);
  const std::vector<int> is = is_last.read();
  for (std::size_t i = 0; i < is.size(); ++i) EXPECT_EQ(is[i], i >= 128);
}

__global__ void put(unsigned* next, unsigned* order) {
  order[atomicAdd(next, 1U)] = blockIdx.x * blockDim.x + threadIdx.x;
}

TEST_F(Kernels, RunFromTheLastThreadToTheFirstWhereTheyAreAskedTo) {
  const OnDevice<unsigned> next(std::vector<unsigned>(1)), order(std::vector<unsigned>(6));
  set(settings_from("reversed"));
  run(2, 3, put, next.data(), order.data());
  EXPECT_EQ(order.read(), (std::vector<unsigned>{5, 4, 3, 2, 1, 0}));
}

__global__ void some_wait() {
  if (threadIdx.x < 16) __shfl_sync(0xffffffffU, 1, 0);
}

TEST_F(Kernels, ThatWaitForNobodyBreakTheDevice) {
  launch_on(stream_, 1, 32, some_wait);
  EXPECT_EQ(cudaStreamSynchronize(stream_), cudaErrorLaunchFailure);
  EXPECT_EQ(cudaStreamSynchronize(stream_), cudaErrorLaunchFailure);
}

__global__ void write(int* to) {
  *to = 3;
}

TEST_F(Kernels, ThatAreGivenMemoryOfTheHostBreakTheDevice) {
  int on_host = 0;
  launch_on(stream_, 1, 1, write, &on_host);
  EXPECT_EQ(cudaStreamSynchronize(stream_), cudaErrorIllegalAddress);
  EXPECT_EQ(on_host, 0);
}

TEST_F(Kernels, OfTooManyThreadsAreRefused) {
  cudaLaunchConfig_t config = {};
  config.gridDim = 1;
  config.blockDim = 1025;
  EXPECT_EQ(cudaLaunchKernelEx(&config, some_wait), cudaErrorInvalidConfiguration);
}

}  // namespace
}  // namespace detol::emulated
