// Pooling. Backward, every input sums up the gradients of the outputs whose windows contain it,
// without atomic additions, so that a run repeats to the bit.

#include "trainer/backends/cuda/kernel.cuh"

namespace detol::inline trainer::cuda {
namespace {

struct Place {
  std::int64_t image, y, x, group;
};

// Returns the place of pack i in images of height x width.
__device__ Place place_of(std::int64_t i, std::int64_t height, std::int64_t width,
                          std::int64_t groups) {
  const std::int64_t group = i % groups, position = i / groups;
  return {position / (height * width), position / width % height, position % width, group};
}

// Taps is the range of a window's taps that lie within the image, in one direction.
struct Taps {
  std::int64_t first, end;
};
__device__ Taps taps_of(std::int64_t at, std::int64_t kernel, std::int64_t extent) {
  return {at < 0 ? -at : 0, at + kernel > extent ? extent - at : kernel};
}

// Calls visit(tap, value) for every input of an output's window.
template <typename T, typename Visit>
__device__ void for_inputs(const WindowCall& call, const Place& at, const T* x,
                           const Visit& visit) {
  const std::int64_t groups = call.channels / kLanes;
  const std::int64_t top = at.y * call.stride - call.above;
  const std::int64_t left = at.x * call.stride - call.beside;
  const Taps down = taps_of(top, call.kernel_height, call.height);
  const Taps right = taps_of(left, call.kernel, call.width);
  for (std::int64_t r = down.first; r < down.end; ++r) {
    for (std::int64_t s = right.first; s < right.end; ++s) {
      const std::int64_t position = (at.image * call.height + top + r) * call.width + left + s;
      visit(r * call.kernel + s, load(x + (position * groups + at.group) * kLanes));
    }
  }
}

template <typename T>
struct MaxPool {
  WindowCall call;
  bool relu;
  const T* x;
  T* y;
  std::int16_t* best;
  __device__ void operator()(std::int64_t i) const {
    const Place at = place_of(i, call.out_height, call.out_width, call.channels / kLanes);
    Lanes largest = zeros();
    std::int16_t taps[kLanes];
    for (int k = 0; k < kLanes; ++k) taps[k] = -1;
    bool is_first = !relu;
    for_inputs(call, at, x, [&](std::int64_t tap, const Lanes& value) {
      for (int k = 0; k < kLanes; ++k) {
        if (!is_first && value[k] <= largest[k]) continue;
        // The comparison is false if either is NaN. A NaN in `largest` stays.
        if (!is_first && largest[k] != largest[k] && value[k] == value[k]) continue;
        largest[k] = value[k];
        taps[k] = static_cast<std::int16_t>(tap);
      }
      is_first = false;
    });
    store(y + i * kLanes, largest);
    for (int k = 0; k < kLanes; ++k) best[i * kLanes + k] = taps[k];
  }
};

// Returns the range of outputs whose windows contain an input, in one direction.
__device__ Taps outputs_of(std::int64_t at, std::int64_t padding, std::int64_t kernel,
                           std::int64_t stride, std::int64_t extent) {
  const std::int64_t last = (at + padding) / stride;
  const std::int64_t before = at + padding - kernel + 1;
  const std::int64_t first = before <= 0 ? 0 : (before + stride - 1) / stride;
  return {first, last + 1 < extent ? last + 1 : extent};
}

// Calls share(sum, output, y, x, tap) for each window that contains input i, and stores the sum.
template <typename T, typename Share>
__device__ void collect(const WindowCall& call, std::int64_t i, T* dx, const Share& share) {
  const std::int64_t groups = call.channels / kLanes;
  const Place at = place_of(i, call.height, call.width, groups);
  const Taps down = outputs_of(at.y, call.above, call.kernel_height, call.stride, call.out_height);
  const Taps right = outputs_of(at.x, call.beside, call.kernel, call.stride, call.out_width);
  Lanes sum = zeros();
  for (std::int64_t y = down.first; y < down.end; ++y) {
    for (std::int64_t x = right.first; x < right.end; ++x) {
      const std::int64_t output =
          ((at.image * call.out_height + y) * call.out_width + x) * groups + at.group;
      const std::int64_t r = at.y + call.above - y * call.stride;
      const std::int64_t s = at.x + call.beside - x * call.stride;
      share(sum, output, y, x, r * call.kernel + s);
    }
  }
  store(dx + i * kLanes, sum);
}

template <typename T>
struct MaxPoolBackward {
  WindowCall call;
  const T* g;
  const std::int16_t* best;
  T* dx;
  __device__ void operator()(std::int64_t i) const {
    collect(call, i, dx,
            [&](Lanes& sum, std::int64_t output, std::int64_t, std::int64_t, std::int64_t tap) {
              const Lanes by = load(g + output * kLanes);
              for (int k = 0; k < kLanes; ++k) {
                if (best[output * kLanes + k] == tap) sum[k] += by[k];
              }
            });
  }
};

__device__ float taps_inside(const WindowCall& call, std::int64_t y, std::int64_t x) {
  const Taps down = taps_of(y * call.stride - call.above, call.kernel_height, call.height);
  const Taps right = taps_of(x * call.stride - call.beside, call.kernel, call.width);
  return static_cast<float>((down.end - down.first) * (right.end - right.first));
}

template <typename T>
struct AvgPool {
  WindowCall call;
  const T* x;
  T* y;
  __device__ void operator()(std::int64_t i) const {
    const Place at = place_of(i, call.out_height, call.out_width, call.channels / kLanes);
    Lanes sum = zeros();
    for_inputs(call, at, x, [&](std::int64_t, const Lanes& value) {
      for (int k = 0; k < kLanes; ++k) sum[k] += value[k];
    });
    const float taps = taps_inside(call, at.y, at.x);
    for (int k = 0; k < kLanes; ++k) sum[k] /= taps;
    store(y + i * kLanes, sum);
  }
};

template <typename T>
struct AvgPoolBackward {
  WindowCall call;
  const T* g;
  T* dx;
  __device__ void operator()(std::int64_t i) const {
    collect(call, i, dx,
            [&](Lanes& sum, std::int64_t output, std::int64_t y, std::int64_t x, std::int64_t) {
              const Lanes by = load(g + output * kLanes);
              const float taps = taps_inside(call, y, x);
              for (int k = 0; k < kLanes; ++k) sum[k] += by[k] / taps;
            });
  }
};

// The threads of a warp share the positions of a pack of channels of an image.
constexpr int kWarp = 32;

template <typename T>
__global__ void __launch_bounds__(kThreads)
    sum_planes_kernel(PlaneCall call, float factor, const T* x, const T* other, T* y) {
  const std::int64_t groups = call.channels / kLanes;
  const std::int64_t stride = all_threads() / kWarp;
  const int lane = threadIdx.x % kWarp;
  for (std::int64_t i = thread_index() / kWarp; i < call.images * groups; i += stride) {
    const std::int64_t image = i / groups, group = i % groups;
    Lanes sum = zeros();
    for (std::int64_t p = lane; p < call.positions; p += kWarp) {
      const std::int64_t at = ((image * call.positions + p) * groups + group) * kLanes;
      Lanes value = load(x + at);
      if (other != nullptr) {
        const Lanes times = load(other + at);
        for (int k = 0; k < kLanes; ++k) value[k] *= times[k];
      }
      for (int k = 0; k < kLanes; ++k) sum[k] += value[k];
    }
    for (int k = 0; k < kLanes; ++k) {
      for (int offset = kWarp / 2; offset > 0; offset /= 2)
        sum[k] += __shfl_xor_sync(0xffffffffU, sum[k], offset);
      sum[k] *= factor;
    }
    if (lane == 0) store(y + i * kLanes, sum);
  }
}

template <typename T>
struct BroadcastPlanes {
  PlaneCall call;
  float factor;
  const T *s, *x;
  T* y;
  __device__ void operator()(std::int64_t i) const {
    const std::int64_t groups = call.channels / kLanes;
    const std::int64_t image = i / (call.positions * groups), group = i % groups;
    Lanes out = load(s + (image * groups + group) * kLanes);
    if (x != nullptr) {
      const Lanes times = load(x + i * kLanes);
      for (int k = 0; k < kLanes; ++k) out[k] *= times[k];
    }
    for (int k = 0; k < kLanes; ++k) out[k] *= factor;
    store(y + i * kLanes, out);
  }
};

std::int64_t inputs_of(const WindowCall& call) {
  return call.images * call.height * call.width * call.channels / kLanes;
}
std::int64_t outputs_of(const WindowCall& call) {
  return call.images * call.out_height * call.out_width * call.channels / kLanes;
}

}  // namespace

void max_pool(Type type, const WindowCall& call, bool relu, const void* x, void* y,
              std::int16_t* best, Stream stream) {
  with_type(type, [&]<typename T>(T) {
    for_all(outputs_of(call),
            MaxPool<T>{call, relu, static_cast<const T*>(x), static_cast<T*>(y), best}, stream);
  });
}

void max_pool_backward(Type type, const WindowCall& call, const void* g, const std::int16_t* best,
                       void* dx, Stream stream) {
  with_type(type, [&]<typename T>(T) {
    for_all(inputs_of(call),
            MaxPoolBackward<T>{call, static_cast<const T*>(g), best, static_cast<T*>(dx)}, stream);
  });
}

void avg_pool(Type type, const WindowCall& call, const void* x, void* y, Stream stream) {
  with_type(type, [&]<typename T>(T) {
    for_all(outputs_of(call), AvgPool<T>{call, static_cast<const T*>(x), static_cast<T*>(y)},
            stream);
  });
}

void avg_pool_backward(Type type, const WindowCall& call, const void* g, void* dx, Stream stream) {
  with_type(type, [&]<typename T>(T) {
    for_all(inputs_of(call),
            AvgPoolBackward<T>{call, static_cast<const T*>(g), static_cast<T*>(dx)}, stream);
  });
}

void sum_planes(Type type, const PlaneCall& call, float factor, const void* x, const void* other,
                void* y, Stream stream) {
  const std::int64_t warps = call.images * call.channels / kLanes;
  const std::int64_t most = 8 * static_cast<std::int64_t>(device().multiprocessors);
  const std::int64_t blocks = std::clamp<std::int64_t>(warps * kWarp / kThreads, 1, most);
  with_type(type, [&]<typename T>(T) {
    launch(stream, dim3(static_cast<unsigned>(blocks)), kThreads, sum_planes_kernel<T>, call,
           factor, static_cast<const T*>(x), static_cast<const T*>(other), static_cast<T*>(y));
  });
}

void broadcast_planes(Type type, const PlaneCall& call, float factor, const void* s, const void* x,
                      void* y, Stream stream) {
  with_type(type, [&]<typename T>(T) {
    for_all(call.images * call.positions * call.channels / kLanes,
            BroadcastPlanes<T>{call, factor, static_cast<const T*>(s), static_cast<const T*>(x),
                               static_cast<T*>(y)},
            stream);
  });
}

}  // namespace detol::inline trainer::cuda
