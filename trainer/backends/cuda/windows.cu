// Pooling. Backward, every input sums up the gradients of the outputs whose windows contain it,
// without atomic additions, so that a run repeats to the bit.

#include "trainer/backends/cuda/kernel.cuh"

namespace detol::inline trainer::cuda {
namespace {

// Window is a WindowCall in 32 bits, which divide ten times faster; packs are counted in 32 bits
// (Builder), and addresses in 64.
struct Window {
  int channels, height, width, out_height, out_width, groups;
  int rows, wide, stride, above, beside;  // rows and wide: of the window

  explicit Window(const WindowCall& call)
      : channels(static_cast<int>(call.channels)),
        height(static_cast<int>(call.height)),
        width(static_cast<int>(call.width)),
        out_height(static_cast<int>(call.out_height)),
        out_width(static_cast<int>(call.out_width)),
        groups(channels / kLanes),
        rows(static_cast<int>(call.kernel_height)),
        wide(static_cast<int>(call.kernel)),
        stride(static_cast<int>(call.stride)),
        above(static_cast<int>(call.above)),
        beside(static_cast<int>(call.beside)) {}
};

struct Place {
  unsigned image;
  int y, x, group;
};

// Returns the place of pack `index` in images of height x width.
__device__ Place place_of(std::int64_t index, int height, int width, int groups) {
  const auto i = static_cast<unsigned>(index);
  const unsigned position = i / static_cast<unsigned>(groups);
  const unsigned row = position / static_cast<unsigned>(width);
  return {row / static_cast<unsigned>(height),
          static_cast<int>(row % static_cast<unsigned>(height)),
          static_cast<int>(position % static_cast<unsigned>(width)),
          static_cast<int>(i % static_cast<unsigned>(groups))};
}

// Taps is the range of a window's taps that lie within the image, in one direction.
struct Taps {
  int first, end;
};
__device__ Taps taps_of(int at, int kernel, int extent) {
  return {at < 0 ? -at : 0, at + kernel > extent ? extent - at : kernel};
}

// Calls visit(tap, value) for every input of an output's window.
template <typename T, typename Visit>
__device__ void for_inputs(const Window& w, const Place& at, const T* x, const Visit& visit) {
  const int top = at.y * w.stride - w.above, left = at.x * w.stride - w.beside;
  const Taps down = taps_of(top, w.rows, w.height);
  const Taps right = taps_of(left, w.wide, w.width);
  const T* image =
      x + static_cast<std::int64_t>(at.image) * w.height * w.width * w.channels + at.group * kLanes;
  for (int r = down.first; r < down.end; ++r) {
    const T* line = image + (static_cast<std::int64_t>(top + r) * w.width + left) * w.channels;
    for (int s = right.first; s < right.end; ++s)
      visit(r * w.wide + s, load(line + static_cast<std::int64_t>(s) * w.channels));
  }
}

template <typename T>
struct MaxPool {
  Window window;
  bool relu;
  const T* x;
  T* y;
  std::int16_t* best;
  __device__ void operator()(std::int64_t i) const {
    const Place at = place_of(i, window.out_height, window.out_width, window.groups);
    Lanes largest = zeros();
    Pack<std::int16_t> taps;
    for (int k = 0; k < kLanes; ++k) taps.values[k] = -1;
    bool is_first = !relu;
    for_inputs(window, at, x, [&](int tap, const Lanes& value) {
      for (int k = 0; k < kLanes; ++k) {
        if (!is_first && value[k] <= largest[k]) continue;
        // The comparison is false if either is NaN. A NaN in `largest` stays.
        if (!is_first && largest[k] != largest[k] && value[k] == value[k]) continue;
        largest[k] = value[k];
        taps.values[k] = static_cast<std::int16_t>(tap);
      }
      is_first = false;
    });
    store(y + i * kLanes, largest);
    *reinterpret_cast<Pack<std::int16_t>*>(best + i * kLanes) = taps;
  }
};

// Returns the range of outputs whose windows contain an input, in one direction.
__device__ Taps outputs_of(int at, int padding, int kernel, int stride, int extent) {
  const int last = (at + padding) / stride;
  const int before = at + padding - kernel + 1;
  const int first = before <= 0 ? 0 : (before + stride - 1) / stride;
  return {first, last + 1 < extent ? last + 1 : extent};
}

// Calls share(sum, output, y, x, tap) for each window that contains input i, and stores the sum.
template <typename T, typename Share>
__device__ void collect(const Window& w, std::int64_t i, T* dx, const Share& share) {
  const Place at = place_of(i, w.height, w.width, w.groups);
  const Taps down = outputs_of(at.y, w.above, w.rows, w.stride, w.out_height);
  const Taps right = outputs_of(at.x, w.beside, w.wide, w.stride, w.out_width);
  Lanes sum = zeros();
  for (int y = down.first; y < down.end; ++y) {
    const std::int64_t line = static_cast<std::int64_t>(at.image) * w.out_height + y;
    for (int x = right.first; x < right.end; ++x) {
      const std::int64_t output = (line * w.out_width + x) * w.groups + at.group;
      const int r = at.y + w.above - y * w.stride, s = at.x + w.beside - x * w.stride;
      share(sum, output, y, x, r * w.wide + s);
    }
  }
  store(dx + i * kLanes, sum);
}

template <typename T>
struct MaxPoolBackward {
  Window window;
  const T* g;
  const std::int16_t* best;
  T* dx;
  __device__ void operator()(std::int64_t i) const {
    collect(window, i, dx, [&](Lanes& sum, std::int64_t output, int, int, int tap) {
      const Lanes by = load(g + output * kLanes);
      const Pack<std::int16_t> taps = pack_at(best + output * kLanes);
      for (int k = 0; k < kLanes; ++k) {
        if (taps.values[k] == tap) sum[k] += by[k];
      }
    });
  }
};

// Returns 1 over the number of inputs in the window of an output.
__device__ float share_inside(const Window& w, int y, int x) {
  const Taps down = taps_of(y * w.stride - w.above, w.rows, w.height);
  const Taps right = taps_of(x * w.stride - w.beside, w.wide, w.width);
  return 1.0F / static_cast<float>((down.end - down.first) * (right.end - right.first));
}

template <typename T>
struct AvgPool {
  Window window;
  const T* x;
  T* y;
  __device__ void operator()(std::int64_t i) const {
    const Place at = place_of(i, window.out_height, window.out_width, window.groups);
    Lanes sum = zeros();
    for_inputs(window, at, x, [&](int, const Lanes& value) {
      for (int k = 0; k < kLanes; ++k) sum[k] += value[k];
    });
    const float share = share_inside(window, at.y, at.x);
    for (int k = 0; k < kLanes; ++k) sum[k] *= share;
    store(y + i * kLanes, sum);
  }
};

template <typename T>
struct AvgPoolBackward {
  Window window;
  const T* g;
  T* dx;
  __device__ void operator()(std::int64_t i) const {
    collect(window, i, dx, [&](Lanes& sum, std::int64_t output, int y, int x, int) {
      const Lanes by = load(g + output * kLanes);
      const float share = share_inside(window, y, x);
      for (int k = 0; k < kLanes; ++k) sum[k] += by[k] * share;
    });
  }
};

// The threads of a warp share the positions of a pack of channels of an image.
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
    const auto groups = static_cast<unsigned>(call.channels / kLanes);
    const auto at = static_cast<unsigned>(i);
    const unsigned group = at % groups;
    const std::int64_t image = at / groups / static_cast<unsigned>(call.positions);
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
            MaxPool<T>{Window(call), relu, static_cast<const T*>(x), static_cast<T*>(y), best},
            stream);
  });
}

void max_pool_backward(Type type, const WindowCall& call, const void* g, const std::int16_t* best,
                       void* dx, Stream stream) {
  with_type(type, [&]<typename T>(T) {
    for_all(inputs_of(call),
            MaxPoolBackward<T>{Window(call), static_cast<const T*>(g), best, static_cast<T*>(dx)},
            stream);
  });
}

void avg_pool(Type type, const WindowCall& call, const void* x, void* y, Stream stream) {
  with_type(type, [&]<typename T>(T) {
    for_all(outputs_of(call),
            AvgPool<T>{Window(call), static_cast<const T*>(x), static_cast<T*>(y)}, stream);
  });
}

void avg_pool_backward(Type type, const WindowCall& call, const void* g, void* dx, Stream stream) {
  with_type(type, [&]<typename T>(T) {
    for_all(inputs_of(call),
            AvgPoolBackward<T>{Window(call), static_cast<const T*>(g), static_cast<T*>(dx)},
            stream);
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
