// Layer norm over the channels of each position (Ba, Kiros and Hinton, 2016, arXiv 1607.06450),
// without beta RMS norm, whose mean is 0 (Zhang and Sennrich, 2019, arXiv 1910.07467): one warp per
// position; and the addition and the gradient of a bias.

#include "trainer/backends/cuda/column_sums.cuh"
#include "trainer/backends/norm_constants.h"

namespace detol::inline trainer::cuda {
namespace {

constexpr auto kEpsilon = static_cast<float>(kNormEpsilon);
constexpr int kRowsOfABlock = kThreads / kWarp;

__device__ std::int64_t first_row() {
  return static_cast<std::int64_t>(blockIdx.x) * kRowsOfABlock + threadIdx.x / kWarp;
}
__device__ std::int64_t row_stride() {
  return static_cast<std::int64_t>(gridDim.x) * kRowsOfABlock;
}

template <typename T>
__global__ void __launch_bounds__(kThreads) forward_kernel(LayerNormCall call) {
  const int lane = threadIdx.x % kWarp;
  for (std::int64_t row = first_row(); row < call.rows; row += row_stride()) {
    const T* x = static_cast<const T*>(call.x) + row * call.width;
    T* y = static_cast<T*>(call.y) + row * call.width;
    float sum = 0;
    for (std::int64_t c = lane; c < call.channels; c += kWarp) sum += to_float(x[c]);
    const auto channels = static_cast<float>(call.channels);
    const float mean = call.beta == nullptr ? 0.0F : sum_of_warp(sum) / channels;
    float square = 0;
    for (std::int64_t c = lane; c < call.channels; c += kWarp) {
      const float d = to_float(x[c]) - mean;
      square += d * d;
    }
    const float inverse = 1.0F / sqrtf(sum_of_warp(square) / channels + kEpsilon);
    for (std::int64_t c = lane; c < call.width; c += kWarp) {
      const float normal = c < call.channels ? (to_float(x[c]) - mean) * inverse : 0.0F;
      y[c] = rounded<T>(call.gamma[c] * normal + (call.beta == nullptr ? 0.0F : call.beta[c]));
    }
    if (lane == 0) {
      call.mean[row] = mean;
      call.inverse[row] = inverse;
    }
  }
}

template <typename T>
__global__ void __launch_bounds__(kThreads)
    backward_kernel(LayerNormCall call, const T* all_g, T* all_dx) {
  const int lane = threadIdx.x % kWarp;
  for (std::int64_t row = first_row(); row < call.rows; row += row_stride()) {
    const T* x = static_cast<const T*>(call.x) + row * call.width;
    const T* g = all_g + row * call.width;
    T* dx = all_dx + row * call.width;
    const float mean = call.mean[row], inverse = call.inverse[row];
    float sum = 0, product = 0;
    for (std::int64_t c = lane; c < call.channels; c += kWarp) {
      const float by = to_float(g[c]) * call.gamma[c];
      sum += by;
      product += by * (to_float(x[c]) - mean) * inverse;
    }
    const auto channels = static_cast<float>(call.channels);
    const float mean_g = call.beta == nullptr ? 0.0F : sum_of_warp(sum) / channels;
    const float mean_product = sum_of_warp(product) / channels;
    for (std::int64_t c = lane; c < call.width; c += kWarp) {
      const float normal = (to_float(x[c]) - mean) * inverse;
      const float by = to_float(g[c]) * call.gamma[c];
      dx[c] = rounded<T>(c < call.channels ? inverse * (by - mean_g - normal * mean_product) : 0);
    }
  }
}

template <typename T>
struct Sums {
  static constexpr int kAhead = 4;
  using State = char;
  struct Values {
    Pack<T> x, g;
    float mean, inverse;
  };
  LayerNormCall call;
  const T* g;
  __device__ State begin(unsigned) const { return 0; }
  __device__ Values fetch(std::int64_t row, unsigned group) const {
    const std::int64_t at = row * call.width + group * kLanes;
    return {pack_at(static_cast<const T*>(call.x) + at), pack_at(g + at), call.mean[row],
            call.inverse[row]};
  }
  __device__ void add(State, std::int64_t, unsigned, const Values& values, Lanes& a,
                      Lanes& b) const {
    const Lanes x = lanes_of(values.x), by = lanes_of(values.g);
    for (int k = 0; k < kLanes; ++k) {
      a[k] += by[k] * (x[k] - values.mean) * values.inverse;
      b[k] += by[k];
    }
  }
};

struct FinishSums {
  LayerNormCall call;
  __device__ void operator()(unsigned c, double a, double b) const {
    call.gamma_gradient[c] = static_cast<float>(a);
    if (call.beta_gradient != nullptr) call.beta_gradient[c] = static_cast<float>(b);
  }
};

template <typename T>
struct AddBias {
  const float* bias;
  T* y;
  unsigned groups;
  __device__ void operator()(std::int64_t i) const {
    const Lanes more = load(bias + static_cast<unsigned>(i) % groups * kLanes);
    Lanes out = load(y + i * kLanes);
    for (int k = 0; k < kLanes; ++k) out[k] += more[k];
    store(y + i * kLanes, out);
  }
};

template <typename T>
struct SumRows {
  static constexpr int kAhead = 4;
  using State = char;
  using Values = Pack<T>;
  const T* g;
  std::int64_t channels;
  __device__ State begin(unsigned) const { return 0; }
  __device__ Values fetch(std::int64_t row, unsigned group) const {
    return pack_at(g + row * channels + group * kLanes);
  }
  __device__ void add(State, std::int64_t, unsigned, const Values& values, Lanes& a, Lanes&) const {
    const Lanes by = lanes_of(values);
    for (int k = 0; k < kLanes; ++k) a[k] += by[k];
  }
};

struct FinishBias {
  float* gradient;
  __device__ void operator()(unsigned c, double a, double) const {
    gradient[c] = static_cast<float>(a);
  }
};

dim3 blocks_for(std::int64_t rows) {
  const std::int64_t most = 8 * static_cast<std::int64_t>(device().multiprocessors);
  return dim3(static_cast<unsigned>(
      std::clamp<std::int64_t>((rows + kRowsOfABlock - 1) / kRowsOfABlock, 1, most)));
}

}  // namespace

void layer_norm(const LayerNormCall& call, Stream stream) {
  with_type(call.type, [&]<typename T>(T) {
    launch(stream, blocks_for(call.rows), kThreads, forward_kernel<T>, call);
  });
}

void layer_norm_sums(const LayerNormCall& call, const void* g, Stream stream) {
  with_type(call.type, [&]<typename T>(T) {
    column_sums(call.rows, call.width, Sums<T>{call, static_cast<const T*>(g)}, FinishSums{call},
                call.scratch, stream);
  });
}

void layer_norm_backward(const LayerNormCall& call, const void* g, void* dx, Stream stream) {
  with_type(call.type, [&]<typename T>(T) {
    launch(stream, blocks_for(call.rows), kThreads, backward_kernel<T>, call,
           static_cast<const T*>(g), static_cast<T*>(dx));
  });
}

void add_bias(Type type, const float* bias, void* y, std::int64_t rows, std::int64_t channels,
              Stream stream) {
  const auto groups = static_cast<unsigned>(channels / kLanes);
  with_type(type, [&]<typename T>(T) {
    for_all(rows * groups, AddBias<T>{bias, static_cast<T*>(y), groups}, stream);
  });
}

void bias_gradient(Type type, const void* g, float* gradient, std::int64_t rows,
                   std::int64_t channels, void* scratch, Stream stream) {
  with_type(type, [&]<typename T>(T) {
    column_sums(rows, channels, SumRows<T>{static_cast<const T*>(g), channels},
                FinishBias{gradient}, scratch, stream);
  });
}

}  // namespace detol::inline trainer::cuda
