#pragma once

// The parts of CUDA's header of this name that the product's kernels need, for a host compiler:
// this folder comes first on the include path of the emulated device. Types and functions of the
// runtime are those of the real cuda_runtime_api.h. A kernel is an ordinary function that is called
// once per thread; dynamic shared memory is not supported.

#include <vector_functions.h>
#include <vector_types.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <tuple>
#include <type_traits>
#include <utility>

#include <cuda_runtime_api.h>

#include "tests/support/cuda/fibers.h"
#include "tests/support/cuda/launch.h"

#undef __global__
#undef __device__
#undef __host__
#undef __shared__
#undef __constant__
#undef __launch_bounds__
#undef __forceinline__
#define __global__
#define __device__
#define __host__
// All threads of a block run on one thread of the host.
#define __shared__ static thread_local
#define __constant__ static const
#define __launch_bounds__(...)
#define __forceinline__ inline __attribute__((always_inline))

extern constinit thread_local uint3 threadIdx;
extern constinit thread_local uint3 blockIdx;
extern constinit thread_local dim3 blockDim;
extern constinit thread_local dim3 gridDim;
inline constexpr int warpSize = detol::emulated::kWarp;

// --- waiting for each other ----------------------------------------------------------------------

inline void __syncthreads() {
  detol::emulated::wait_for_block();
}
inline void __syncwarp(unsigned mask = 0xffffffffU) {
  detol::emulated::exchange(mask, 0, detol::emulated::lane());
}
inline void __threadfence() {}
inline void __threadfence_block() {}
inline void __threadfence_system() {}

inline unsigned __ballot_sync(unsigned mask, int predicate) {
  return detol::emulated::ballot(mask, predicate != 0);
}
inline int __any_sync(unsigned mask, int predicate) {
  return __ballot_sync(mask, predicate) != 0;
}
inline int __all_sync(unsigned mask, int predicate) {
  return __ballot_sync(mask, predicate) == mask;
}

namespace detol::emulated {

// Returns the value of lane `source`, or the lane's own value if `source` is outside of its segment
// of `width` lanes (CUDA C++ programming guide, "Warp Shuffle Functions").
template <typename T>
T shuffled(unsigned mask, T value, int source, int width) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(std::uint64_t));
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  const int own = static_cast<int>(lane());
  const int first = own / width * width;
  const int from = source < first || source >= first + width ? own : source;
  bits = exchange(mask, bits, static_cast<unsigned>(from));
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

inline int first_of_segment(int width) {
  return static_cast<int>(lane()) / width * width;
}

}  // namespace detol::emulated

template <typename T>
T __shfl_sync(unsigned mask, T value, int source, int width = warpSize) {
  return detol::emulated::shuffled(
      mask, value, detol::emulated::first_of_segment(width) + (source & (width - 1)), width);
}
template <typename T>
T __shfl_xor_sync(unsigned mask, T value, int bits, int width = warpSize) {
  return detol::emulated::shuffled(mask, value, static_cast<int>(detol::emulated::lane()) ^ bits,
                                   width);
}
template <typename T>
T __shfl_down_sync(unsigned mask, T value, unsigned by, int width = warpSize) {
  return detol::emulated::shuffled(mask, value, static_cast<int>(detol::emulated::lane() + by),
                                   width);
}
template <typename T>
T __shfl_up_sync(unsigned mask, T value, unsigned by, int width = warpSize) {
  return detol::emulated::shuffled(
      mask, value, static_cast<int>(detol::emulated::lane()) - static_cast<int>(by), width);
}

// --- memory --------------------------------------------------------------------------------------

// Blocks run one after the other, in the stream's order: nothing else touches the memory.
template <typename T>
T atomicAdd(T* at, std::type_identity_t<T> by) {
  const T before = *at;
  *at = before + by;
  return before;
}
template <typename T>
T atomicMax(T* at, std::type_identity_t<T> other) {
  const T before = *at;
  *at = before < other ? other : before;
  return before;
}
template <typename T>
T atomicExch(T* at, std::type_identity_t<T> value) {
  return std::exchange(*at, value);
}
template <typename T>
T atomicCAS(T* at, std::type_identity_t<T> expected, std::type_identity_t<T> value) {
  const T before = *at;
  if (before == expected) *at = value;
  return before;
}
// As CUDA's: the value after `last` is 0.
inline unsigned atomicInc(unsigned* at, unsigned last) {
  const unsigned before = *at;
  *at = before >= last ? 0 : before + 1;
  return before;
}

template <typename T>
T __ldg(const T* from) {
  return *from;
}

// --- arithmetic ----------------------------------------------------------------------------------

// These two are CUDA's, and not in <cmath>.
inline float rsqrtf(float x) {
  return 1.0F / std::sqrt(x);
}
inline double rsqrt(double x) {
  return 1.0 / std::sqrt(x);
}
inline float __expf(float x) {
  return std::exp(x);
}
inline float __logf(float x) {
  return std::log(x);
}
inline float __fdividef(float x, float y) {
  return x / y;
}
inline float __fmaf_rn(float x, float y, float z) {
  return std::fma(x, y, z);
}
inline float __fadd_rn(float x, float y) {
  return x + y;
}
inline float __fsub_rn(float x, float y) {
  return x - y;
}
inline float __fmul_rn(float x, float y) {
  return x * y;
}
inline float __fdiv_rn(float x, float y) {
  return x / y;
}
inline float __fsqrt_rn(float x) {
  return std::sqrt(x);
}
inline double __dadd_rn(double x, double y) {
  return x + y;
}
inline double __dmul_rn(double x, double y) {
  return x * y;
}
inline int __float_as_int(float x) {
  return std::bit_cast<int>(x);
}
inline float __int_as_float(int x) {
  return std::bit_cast<float>(x);
}
inline unsigned __float_as_uint(float x) {
  return std::bit_cast<unsigned>(x);
}
inline float __uint_as_float(unsigned x) {
  return std::bit_cast<float>(x);
}
inline int __popc(unsigned x) {
  return std::popcount(x);
}
inline int __clz(int x) {
  return std::countl_zero(static_cast<unsigned>(x));
}
inline int __ffs(int x) {
  return x == 0 ? 0 : std::countr_zero(static_cast<unsigned>(x)) + 1;
}
inline unsigned __umulhi(unsigned x, unsigned y) {
  return static_cast<unsigned>(static_cast<std::uint64_t>(x) * y >> 32);
}

#define DETOL_EMULATED_MIN_MAX(Type) \
  inline Type min(Type a, Type b) {  \
    return b < a ? b : a;            \
  }                                  \
  inline Type max(Type a, Type b) {  \
    return a < b ? b : a;            \
  }
DETOL_EMULATED_MIN_MAX(int)
DETOL_EMULATED_MIN_MAX(unsigned)
DETOL_EMULATED_MIN_MAX(long)
DETOL_EMULATED_MIN_MAX(unsigned long)
DETOL_EMULATED_MIN_MAX(long long)
DETOL_EMULATED_MIN_MAX(unsigned long long)
#undef DETOL_EMULATED_MIN_MAX
// If one argument is NaN, these return the other, as on the device.
inline float min(float a, float b) {
  return std::fmin(a, b);
}
inline float max(float a, float b) {
  return std::fmax(a, b);
}
inline double min(double a, double b) {
  return std::fmin(a, b);
}
inline double max(double a, double b) {
  return std::fmax(a, b);
}

// --- launches ------------------------------------------------------------------------------------

// Copies the arguments at the call, as the real one does.
template <typename... Params, typename... Args>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Params...),
                               Args&&... args) {
  std::tuple<std::remove_cvref_t<Params>...> copies(std::forward<Args>(args)...);
  bool known = true;
  const auto check = [&](const auto& argument) {
    if constexpr (std::is_pointer_v<std::remove_cvref_t<decltype(argument)>>)
      known = known && detol::emulated::can_be_used_by_kernels(argument);
  };
  std::apply([&](const auto&... each) { (check(each), ...); }, copies);
  return detol::emulated::launch(config, known, [kernel, copies] { std::apply(kernel, copies); });
}
