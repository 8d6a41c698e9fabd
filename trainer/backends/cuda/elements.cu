// Kernels that work element by element.

#include "encodings/network/activation_functions.h"
#include "trainer/backends/cuda/kernel.cuh"
#include "trainer/backends/cuda/partial_sums.cuh"

namespace detol::inline trainer::cuda {
namespace {

template <typename T, bool kMultiplies>
struct Join {
  const T *a, *b;
  T* y;
  __device__ void operator()(std::int64_t i) const {
    const Lanes left = load(a + i * kLanes), right = load(b + i * kLanes);
    Lanes out;
    for (int k = 0; k < kLanes; ++k) out[k] = kMultiplies ? left[k] * right[k] : left[k] + right[k];
    store(y + i * kLanes, out);
  }
};

template <bool kMultiplies>
void join(Type type, const void* a, const void* b, void* y, std::int64_t count, Stream stream) {
  with_type(type, [&]<typename T>(T) {
    for_all(count / kLanes,
            Join<T, kMultiplies>{static_cast<const T*>(a), static_cast<const T*>(b),
                                 static_cast<T*>(y)},
            stream);
  });
}

template <typename T>
struct Activate {
  Activation function;
  const T* x;
  T* y;
  __device__ void operator()(std::int64_t i) const {
    const Lanes in = load(x + i * kLanes);
    Lanes out;
    for (int k = 0; k < kLanes; ++k) out[k] = value_of(function, in[k]);
    store(y + i * kLanes, out);
  }
};

template <typename T>
struct ActivateBackward {
  Activation function;
  const T *at, *g, *other;
  T* dx;
  __device__ void operator()(std::int64_t i) const {
    const Lanes here = load(at + i * kLanes);
    const Lanes more = other != nullptr ? load(other + i * kLanes) : zeros();
    Lanes by = load(g + i * kLanes), out;
    for (int k = 0; k < kLanes; ++k) by[k] += more[k];
    for (int k = 0; k < kLanes; ++k) out[k] = gradient_of(function, here[k], by[k]);
    store(dx + i * kLanes, out);
  }
};

template <typename T>
struct Quantize {
  Levels levels;
  const T* x;
  T* y;
  __device__ void operator()(std::int64_t i) const {
    const Lanes in = load(x + i * kLanes);
    Lanes out;
    for (int k = 0; k < kLanes; ++k) {
      const float level = rintf(in[k] / levels.scale) + levels.zero_point;
      out[k] = (fminf(fmaxf(level, 0.0F), 255.0F) - levels.zero_point) * levels.scale;
    }
    store(y + i * kLanes, out);
  }
};

template <typename T>
struct ClearPadding {
  T* values;
  std::int64_t channels, width;
  __device__ void operator()(std::int64_t row) const {
    for (std::int64_t c = channels; c < width; ++c) values[row * width + c] = rounded<T>(0);
  }
};

struct MultiplyBy {
  float* values;
  const float* factor;
  __device__ void operator()(std::int64_t i) const { values[i] *= *factor; }
};

template <typename T>
struct ToFloats {
  const T* from;
  float* to;
  __device__ void operator()(std::int64_t i) const { to[i] = to_float(from[i]); }
};

template <typename T>
struct FromFloats {
  const float* from;
  T* to;
  __device__ void operator()(std::int64_t i) const { to[i] = rounded<T>(from[i]); }
};

struct Accumulate {
  float* sum;
  const float* values;
  __device__ void operator()(std::int64_t i) const { sum[i] += values[i]; }
};

struct Swap {
  float *a, *b;
  __device__ void operator()(std::int64_t i) const {
    const float kept = a[i];
    a[i] = b[i];
    b[i] = kept;
  }
};

// Philox 4x32-10 (Salmon et al., SC'11, "Parallel random numbers: as easy as 1, 2, 3"): the two
// words of block `counter` of stream `key`, as core/rng.h draws them.
struct Block {
  std::uint64_t low, high;
};

__device__ Block philox(std::uint64_t key, std::uint64_t counter) {
  constexpr std::uint32_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
  constexpr std::uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;
  auto c0 = static_cast<std::uint32_t>(counter), c1 = static_cast<std::uint32_t>(counter >> 32);
  std::uint32_t c2 = 0, c3 = 0;
  auto k0 = static_cast<std::uint32_t>(key), k1 = static_cast<std::uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round, k0 += kWeyl0, k1 += kWeyl1) {
    const std::uint64_t product0 = static_cast<std::uint64_t>(kMultiplier0) * c0;
    const std::uint64_t product1 = static_cast<std::uint64_t>(kMultiplier1) * c2;
    c0 = static_cast<std::uint32_t>(product1 >> 32) ^ c1 ^ k0;
    c1 = static_cast<std::uint32_t>(product1);
    c2 = static_cast<std::uint32_t>(product0 >> 32) ^ c3 ^ k1;
    c3 = static_cast<std::uint32_t>(product0);
  }
  return {c0 | static_cast<std::uint64_t>(c1) << 32, c2 | static_cast<std::uint64_t>(c3) << 32};
}

template <typename T>
struct Dropout {
  DropoutCall call;
  const T* x;
  T* y;
  __device__ void operator()(std::int64_t i) const {
    const std::int64_t lanes = call.channels / kLanes;
    const std::int64_t row = i / lanes, group = i % lanes;
    const std::int64_t block = (call.first * call.positions + row) * call.groups + group;
    const Block words = philox(*call.key, static_cast<std::uint64_t>(block));
    const Lanes in = load(x + i * kLanes);
    Lanes out;
    for (int k = 0; k < kLanes; ++k) {
      const std::uint64_t word = k < 4 ? words.low : words.high;
      const auto bits = static_cast<std::int32_t>(word >> k % 4 * 16 & 0xffff);
      out[k] = in[k] * (bits < call.threshold ? 0.0F : call.kept);
    }
    store(y + i * kLanes, out);
  }
};

template <typename T>
struct CopyChannels {
  ChannelCopy call;
  std::int64_t written;  // channels of a row of `to`
  const T* from;
  T* to;
  __device__ void operator()(std::int64_t i) const {
    const std::int64_t row = i / written, c = i % written;
    to[row * call.to_width + call.to_first + c] =
        c < call.channels ? from[row * call.from_width + call.from_first + c] : rounded<T>(0);
  }
};

// CopyPacks is CopyChannels in packs, where all of its numbers of channels are whole packs.
template <typename T>
struct CopyPacks {
  ChannelCopy call;
  unsigned written;  // packs of a row of `to`
  const T* from;
  T* to;
  __device__ void operator()(std::int64_t i) const {
    const auto at = static_cast<unsigned>(i);
    const std::int64_t row = at / written, c = at % written * kLanes;
    const Lanes values =
        c < call.channels ? load(from + row * call.from_width + call.from_first + c) : zeros();
    store(to + row * call.to_width + call.to_first + c, values);
  }
};

template <typename T>
struct Flatten {
  FlattenCall call;
  std::int64_t width, flat;  // padded lengths: of a position, of an image's vector
  const T* x;
  T* y;
  __device__ void operator()(std::int64_t i) const {
    const std::int64_t image = i / flat, at = i % flat;
    const std::int64_t channel = at / call.positions, position = at % call.positions;
    y[i] = channel < call.channels ? x[(image * call.positions + position) * width + channel]
                                   : rounded<T>(0);
  }
};

template <typename T>
struct Unflatten {
  FlattenCall call;
  std::int64_t width, flat;
  const T* g;
  T* dx;
  __device__ void operator()(std::int64_t i) const {
    const std::int64_t row = i / width, channel = i % width;
    const std::int64_t image = row / call.positions, position = row % call.positions;
    dx[i] = channel < call.channels ? g[image * flat + channel * call.positions + position]
                                    : rounded<T>(0);
  }
};

struct KeepGroups {
  float* gradient;
  std::int64_t window, inputs, group_outputs, group_inputs;
  __device__ void operator()(std::int64_t i) const {
    const std::int64_t input = i % inputs, output = i / (window * inputs);
    if (input / group_inputs != output / group_outputs) gradient[i] = 0;
  }
};

struct Copy {
  const float4* from;
  float4* to;
  __device__ void operator()(std::int64_t i) const { to[i] = from[i]; }
};

}  // namespace

void add(Type type, const void* a, const void* b, void* sum, std::int64_t count, Stream stream) {
  join<false>(type, a, b, sum, count, stream);
}

void multiply(Type type, const void* a, const void* b, void* y, std::int64_t count, Stream stream) {
  join<true>(type, a, b, y, count, stream);
}

void activate(Type type, Activation function, const void* x, void* y, std::int64_t count,
              Stream stream) {
  with_type(type, [&]<typename T>(T) {
    for_all(count / kLanes, Activate<T>{function, static_cast<const T*>(x), static_cast<T*>(y)},
            stream);
  });
}

void activate_backward(Type type, Activation function, const void* at, const void* g,
                       const void* other, void* dx, std::int64_t count, Stream stream) {
  with_type(type, [&]<typename T>(T) {
    for_all(count / kLanes,
            ActivateBackward<T>{function, static_cast<const T*>(at), static_cast<const T*>(g),
                                static_cast<const T*>(other), static_cast<T*>(dx)},
            stream);
  });
}

void quantize(Type type, Levels levels, const void* x, void* y, std::int64_t count, Stream stream) {
  with_type(type, [&]<typename T>(T) {
    for_all(count / kLanes, Quantize<T>{levels, static_cast<const T*>(x), static_cast<T*>(y)},
            stream);
  });
}

void clear_padding(Type type, void* values, std::int64_t rows, std::int64_t channels,
                   Stream stream) {
  if (channels % kLanes == 0) return;
  with_type(type, [&]<typename T>(T) {
    for_all(rows, ClearPadding<T>{static_cast<T*>(values), channels, padded(channels)}, stream);
  });
}

void multiply_by(float* values, const float* factor, std::int64_t count, Stream stream) {
  for_all(count, MultiplyBy{values, factor}, stream);
}

void to_floats(Type type, const void* from, float* to, std::int64_t count, Stream stream) {
  with_type(type, [&]<typename T>(T) {
    for_all(count, ToFloats<T>{static_cast<const T*>(from), to}, stream);
  });
}

void from_floats(Type type, const float* from, void* to, std::int64_t count, Stream stream) {
  with_type(type, [&]<typename T>(T) {
    for_all(count, FromFloats<T>{from, static_cast<T*>(to)}, stream);
  });
}

void accumulate(float* sum, const float* values, std::int64_t count, Stream stream) {
  for_all(count, Accumulate{sum, values}, stream);
}

void swap(float* a, float* b, std::int64_t count, Stream stream) {
  for_all(count, Swap{a, b}, stream);
}

void dropout(Type type, const DropoutCall& call, const void* x, void* y, Stream stream) {
  with_type(type, [&]<typename T>(T) {
    for_all(call.images * call.positions * call.channels / kLanes,
            Dropout<T>{call, static_cast<const T*>(x), static_cast<T*>(y)}, stream);
  });
}

void copy_channels(Type type, const ChannelCopy& call, const void* from, void* to, Stream stream) {
  const std::int64_t written = call.clears_rest ? call.to_width - call.to_first : call.channels;
  const std::int64_t all =
      call.channels | call.to_width | call.to_first | call.from_width | call.from_first | written;
  with_type(type, [&]<typename T>(T) {
    if (all % kLanes == 0)
      return for_all(call.rows * written / kLanes,
                     CopyPacks<T>{call, static_cast<unsigned>(written / kLanes),
                                  static_cast<const T*>(from), static_cast<T*>(to)},
                     stream);
    for_all(call.rows * written,
            CopyChannels<T>{call, written, static_cast<const T*>(from), static_cast<T*>(to)},
            stream);
  });
}

void flatten(Type type, const FlattenCall& call, const void* x, void* y, Stream stream) {
  const std::int64_t flat = padded(call.positions * call.channels);
  with_type(type, [&]<typename T>(T) {
    for_all(
        call.images * flat,
        Flatten<T>{call, padded(call.channels), flat, static_cast<const T*>(x), static_cast<T*>(y)},
        stream);
  });
}

void unflatten(Type type, const FlattenCall& call, const void* g, void* dx, Stream stream) {
  const std::int64_t width = padded(call.channels);
  with_type(type, [&]<typename T>(T) {
    for_all(call.images * call.positions * width,
            Unflatten<T>{call, width, padded(call.positions * call.channels),
                         static_cast<const T*>(g), static_cast<T*>(dx)},
            stream);
  });
}

void add_up_parts(Type type, const float* from, std::int64_t parts, std::int64_t count, void* to,
                  Stream stream) {
  with_type(type, [&]<typename T>(T) {
    sum_parts(from, static_cast<unsigned>(parts), count, static_cast<T*>(to), stream);
  });
}

void keep_groups(float* gradient, std::int64_t outputs, std::int64_t window, std::int64_t inputs,
                 std::int64_t group_outputs, std::int64_t group_inputs, Stream stream) {
  for_all(outputs * window * inputs,
          KeepGroups{gradient, window, inputs, group_outputs, group_inputs}, stream);
}

void copy(const void* from, void* to, std::int64_t bytes, Stream stream) {
  for_all(bytes / static_cast<std::int64_t>(sizeof(float4)),
          Copy{static_cast<const float4*>(from), static_cast<float4*>(to)}, stream);
}

}  // namespace detol::inline trainer::cuda
