#pragma once

// Shared by the kernels: packs of channels, types and launches. Only launch() launches kernels, the
// threads of a block are one-dimensional, and for_all() is correct with any number of blocks.

#include <algorithm>

#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include "trainer/backends/cuda/device.h"
#include "trainer/backends/cuda/kernels.h"

namespace detol::inline trainer::cuda {

using Bfloat16 = __nv_bfloat16;

inline constexpr int kThreads = 256;
inline constexpr int kWarp = 32;

// Returns the sum over the threads of the warp, in all of them.
template <typename Real>
__device__ Real sum_of_warp(Real value) {
  for (int offset = kWarp / 2; offset > 0; offset /= 2)
    value += __shfl_xor_sync(0xffffffffU, value, offset);
  return value;
}

__device__ inline float to_float(float x) {
  return x;
}
__device__ inline float to_float(Bfloat16 x) {
  return __bfloat162float(x);
}

template <typename T>
__device__ T rounded(float x);
template <>
__device__ inline float rounded<float>(float x) {
  return x;
}
template <>
__device__ inline Bfloat16 rounded<Bfloat16>(float x) {
  return __float2bfloat16(x);
}

// Pack is kLanes channels in memory, read and written at once.
template <typename T>
struct alignas(sizeof(T) * kLanes > 16 ? 16 : sizeof(T) * kLanes) Pack {
  T values[kLanes];
};

// Lanes is a pack in registers, as floats.
struct Lanes {
  float values[kLanes];
  __device__ float& operator[](int lane) { return values[lane]; }
  __device__ float operator[](int lane) const { return values[lane]; }
};

template <typename T>
__device__ Pack<T> pack_at(const T* from) {
  return *reinterpret_cast<const Pack<T>*>(from);
}

template <typename T>
__device__ Lanes lanes_of(const Pack<T>& pack) {
  Lanes lanes;
  for (int i = 0; i < kLanes; ++i) lanes[i] = to_float(pack.values[i]);
  return lanes;
}

template <typename T>
__device__ Lanes load(const T* from) {
  return lanes_of(pack_at(from));
}

template <typename T>
__device__ void store(T* to, const Lanes& lanes) {
  Pack<T> pack;
  for (int i = 0; i < kLanes; ++i) pack.values[i] = rounded<T>(lanes[i]);
  *reinterpret_cast<Pack<T>*>(to) = pack;
}

__device__ inline Lanes zeros() {
  Lanes lanes;
  for (int i = 0; i < kLanes; ++i) lanes[i] = 0;
  return lanes;
}

__device__ inline std::int64_t thread_index() {
  return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ inline std::int64_t all_threads() {
  return static_cast<std::int64_t>(gridDim.x) * blockDim.x;
}

template <typename... Params, typename... Args>
void launch(Stream stream, dim3 blocks, unsigned threads, void (*kernel)(Params...),
            Args&&... args) {
  cudaLaunchConfig_t config = {};
  config.gridDim = blocks;
  config.blockDim = dim3(threads, 1, 1);
  config.stream = stream;
  check(cudaLaunchKernelEx(&config, kernel, static_cast<Params>(args)...), "a kernel's launch");
}

// Calls body(i) for all i below count.
template <typename Body>
__global__ void __launch_bounds__(kThreads) for_all_kernel(std::int64_t count, Body body) {
  for (std::int64_t i = thread_index(); i < count; i += all_threads()) body(i);
}

template <typename Body>
void for_all(std::int64_t count, const Body& body, Stream stream) {
  if (count == 0) return;
  const std::int64_t wanted = (count + kThreads - 1) / kThreads;
  const std::int64_t most = 8 * static_cast<std::int64_t>(device().multiprocessors);
  const auto blocks = static_cast<unsigned>(std::min(wanted, most));
  launch(stream, dim3(blocks), kThreads, for_all_kernel<Body>, count, body);
}

// Calls action with a value of the element's type.
template <typename Action>
void with_type(Type type, const Action& action) {
  type == Type::kFloat ? action(float{}) : action(Bfloat16{});
}

}  // namespace detol::inline trainer::cuda
