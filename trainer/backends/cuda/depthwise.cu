// Depthwise convolutions. Forward, and backward to the input, a thread computes a strip of pixels
// of one pack of channels, so that a weight is read once for all of them; inputs that neighbours
// share come from the first-level cache. Backward to the weights, a thread adds up the products of
// a row of taps over many strips.

#include "trainer/backends/cuda/column_sums.cuh"
#include "trainer/backends/cuda/conv_kernels.h"
#include "trainer/backends/cuda/partial_sums.cuh"

namespace detol::inline trainer::cuda {
namespace {

constexpr int kStrip = 4;      // pixels of a thread
constexpr int kMostTaps = 81;  // of a window
constexpr int kMostWide = 9;   // taps of a window's row
constexpr int kMostPacks = static_cast<int>(kMostAcross) * kLanes;

// Depthwise holds what the kernels need of a ConvShape, in 32 bits.
struct Depthwise {
  int images, height, width, out_height, out_width, channels;
  int rows, wide, stride, dilation, above, beside;  // rows and wide: of the window
};

Depthwise depthwise_of(const ConvShape& s) {
  const auto narrow = [](std::int64_t value) { return static_cast<int>(value); };
  return {narrow(s.images),    narrow(s.height),   narrow(s.width),         narrow(s.out_height),
          narrow(s.out_width), narrow(s.inputs),   narrow(s.kernel_height), narrow(s.kernel),
          narrow(s.stride),    narrow(s.dilation), narrow(s.above),         narrow(s.beside)};
}

// Strip is the place of a thread's pixels: x, x + 1, ... of a row of an image.
struct Strip {
  int image, y, x;
};
__device__ Strip strip_of(std::int64_t index, int height, int width) {
  const auto i = static_cast<unsigned>(index);
  const auto strips = static_cast<unsigned>((width + kStrip - 1) / kStrip);
  const unsigned row = i / strips;
  return {static_cast<int>(row / static_cast<unsigned>(height)),
          static_cast<int>(row % static_cast<unsigned>(height)),
          static_cast<int>(i % strips) * kStrip};
}

__host__ __device__ inline std::int64_t strips_in(int images, int height, int width) {
  return static_cast<std::int64_t>(images) * height * ((width + kStrip - 1) / kStrip);
}

// Returns where a tap reads for output pixel `at`; negative: nowhere.
template <bool kIsData>
__device__ int source_of(int at, int tap, int stride, int dilation, int padding, int extent) {
  if (!kIsData) {
    const int source = at * stride - padding + tap * dilation;
    return source < extent ? source : -1;
  }
  const int moved = at + padding - tap * dilation;
  if (stride == 1) return moved < extent ? moved : -1;
  if (moved < 0 || moved % stride != 0) return -1;
  return moved / stride < extent ? moved / stride : -1;
}

// from: x or dy, of from_height x from_width; to: y or dx. The block's threads are those of
// for_rows(), and its rows are strips.
template <typename T, bool kIsData>
__global__ void __launch_bounds__(kThreads)
    gather_kernel(RowsShape shape, Depthwise d, const T* from, const T* weights, T* to) {
  __shared__ __align__(16) float taps[kMostTaps * kMostPacks];
  const unsigned pack = threadIdx.x % shape.across, y = threadIdx.x / shape.across;
  const unsigned first_group = blockIdx.x * shape.across;
  const int count = d.rows * d.wide;
  for (int i = static_cast<int>(threadIdx.x); i < count * kMostPacks; i += kThreads) {
    const int channel = static_cast<int>(first_group) * kLanes + i % kMostPacks;
    const int tap = i / kMostPacks;
    taps[i] = channel < d.channels ? to_float(weights[channel * count + tap]) : 0.0F;
  }
  __syncthreads();
  const unsigned group = first_group + pack;
  const unsigned down = kThreads / shape.across;
  if (y >= down || group >= shape.groups) return;
  const int height = kIsData ? d.height : d.out_height, width = kIsData ? d.width : d.out_width;
  const int from_height = kIsData ? d.out_height : d.height;
  const int from_width = kIsData ? d.out_width : d.width;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.y) * down + y; i < shape.rows;
       i += static_cast<std::int64_t>(gridDim.y) * down) {
    const Strip at = strip_of(i, height, width);
    Lanes sums[kStrip];
#pragma unroll
    for (int j = 0; j < kStrip; ++j) sums[j] = zeros();
    for (int r = 0; r < d.rows; ++r) {
      const int row = source_of<kIsData>(at.y, r, d.stride, d.dilation, d.above, from_height);
      if (row < 0) continue;
      const T* line =
          from +
          (static_cast<std::int64_t>(at.image) * from_height + row) * from_width * d.channels +
          group * kLanes;
      for (int s = 0; s < d.wide; ++s) {
        const Lanes by = load(taps + (r * d.wide + s) * kMostPacks + pack * kLanes);
#pragma unroll
        for (int j = 0; j < kStrip; ++j) {
          const int x = source_of<kIsData>(at.x + j, s, d.stride, d.dilation, d.beside, from_width);
          if (x < 0) continue;
          const Lanes value = load(line + static_cast<std::int64_t>(x) * d.channels);
          for (int k = 0; k < kLanes; ++k) sums[j][k] += value[k] * by[k];
        }
      }
    }
    T* out = to +
             ((static_cast<std::int64_t>(at.image) * height + at.y) * width + at.x) * d.channels +
             group * kLanes;
#pragma unroll
    for (int j = 0; j < kStrip; ++j) {
      if (at.x + j < width) store(out + static_cast<std::int64_t>(j) * d.channels, sums[j]);
    }
  }
}

// Writes the block's part of the gradients of row blockIdx.z of the window: sums over strips of the
// output. kWide: at least the taps of a row.
template <typename T, int kWide>
__global__ void __launch_bounds__(kThreads)
    weights_kernel(RowsShape shape, Depthwise d, const T* x, const T* dy, float* parts) {
  constexpr unsigned kPlane = kThreads + 2;
  __shared__ float planes[kLanes * kPlane];
  const unsigned pack = threadIdx.x % shape.across, y = threadIdx.x / shape.across;
  const unsigned group = blockIdx.x * shape.across + pack, down = kThreads / shape.across;
  const int r = static_cast<int>(blockIdx.z);
  Lanes sums[kWide];
#pragma unroll
  for (int s = 0; s < kWide; ++s) sums[s] = zeros();
  const bool works = y < down && group < shape.groups;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.y) * down + y; works && i < shape.rows;
       i += static_cast<std::int64_t>(gridDim.y) * down) {
    const Strip at = strip_of(i, d.out_height, d.out_width);
    const int row = at.y * d.stride - d.above + r * d.dilation;
    if (row < 0 || row >= d.height) continue;
    const std::int64_t first = group * kLanes;
    const T* line =
        x + (static_cast<std::int64_t>(at.image) * d.height + row) * d.width * d.channels + first;
    const T* out =
        dy +
        ((static_cast<std::int64_t>(at.image) * d.out_height + at.y) * d.out_width + at.x) *
            d.channels +
        first;
#pragma unroll
    for (int j = 0; j < kStrip; ++j) {
      if (at.x + j >= d.out_width) continue;
      const Lanes by = load(out + static_cast<std::int64_t>(j) * d.channels);
      const int left = (at.x + j) * d.stride - d.beside;
#pragma unroll
      for (int s = 0; s < kWide; ++s) {
        const int column = left + s * d.dilation;
        if (s >= d.wide || column < 0 || column >= d.width) continue;
        const Lanes value = load(line + static_cast<std::int64_t>(column) * d.channels);
        for (int k = 0; k < kLanes; ++k) sums[s][k] += value[k] * by[k];
      }
    }
  }
  const unsigned values = kLanes * shape.across, shares = kThreads / values;
  const unsigned value = threadIdx.x % values, share = threadIdx.x / values;
  const int count = d.rows * d.wide;
  float* part = parts + static_cast<std::int64_t>(blockIdx.y) * d.channels * count;
#pragma unroll
  for (int s = 0; s < kWide; ++s) {
    if (s >= d.wide) break;
    __syncthreads();
    for (int k = 0; k < kLanes; ++k)
      planes[static_cast<unsigned>(k) * kPlane + threadIdx.x] = sums[s][k];
    __syncthreads();
    float sum = 0;
    for (unsigned at = share; share < shares && at < down; at += shares)
      sum += planes[value % kLanes * kPlane + at * shape.across + value / kLanes];
    __syncthreads();
    planes[threadIdx.x] = sum;
    __syncthreads();
    const int channel = static_cast<int>(blockIdx.x * values + value);
    if (threadIdx.x >= values || channel >= d.channels) continue;
    for (unsigned other = 1; other < shares; ++other) sum += planes[other * values + value];
    part[channel * count + r * d.wide + s] = sum;
  }
}

bool supports(const ConvShape& s) {
  constexpr std::int64_t kMostStrips = std::int64_t{1} << 31;
  const std::int64_t taps = s.kernel_height * s.kernel;
  return s.groups == s.inputs && s.groups == s.outputs && s.groups > 1 && taps <= kMostTaps &&
         s.kernel <= kMostWide && s.images * s.height * s.width < kMostStrips &&
         s.inputs * taps < kMostStrips;
}

unsigned weight_blocks(const ConvShape& s) {
  const Depthwise d = depthwise_of(s);
  const unsigned columns = columns_of(s.inputs);
  const RowsShape shape = rows_shape(strips_in(d.images, d.out_height, d.out_width), s.inputs);
  const unsigned most = 4U * static_cast<unsigned>(device().multiprocessors) /
                        (columns * static_cast<unsigned>(d.rows));
  return blocks_down(shape, 1, most);
}

std::size_t scratch_bytes(const ConvShape& s) {
  if (s.direction != Direction::kWeights) return 0;
  return weight_blocks(s) * static_cast<std::size_t>(s.inputs * s.kernel_height * s.kernel) *
         sizeof(float);
}

template <typename T, bool kIsData>
void gather(const ConvShape& s, const void* from, const void* w, void* to, Stream stream) {
  const Depthwise d = depthwise_of(s);
  const RowsShape shape = rows_shape(kIsData ? strips_in(d.images, d.height, d.width)
                                             : strips_in(d.images, d.out_height, d.out_width),
                                     s.inputs);
  const unsigned columns = columns_of(s.inputs);
  const unsigned most = 8U * static_cast<unsigned>(device().multiprocessors) / columns;
  launch(stream, dim3(columns, blocks_down(shape, 1, most)), kThreads, gather_kernel<T, kIsData>,
         shape, d, static_cast<const T*>(from), static_cast<const T*>(w), static_cast<T*>(to));
}

template <typename T>
void add_up_weights(const ConvShape& s, const void* x, const void* dy, void* dw, void* scratch,
                    Stream stream) {
  const Depthwise d = depthwise_of(s);
  const RowsShape shape = rows_shape(strips_in(d.images, d.out_height, d.out_width), s.inputs);
  const unsigned blocks = weight_blocks(s);
  const auto run = [&](auto* kernel) {
    launch(stream, dim3(columns_of(s.inputs), blocks, static_cast<unsigned>(d.rows)), kThreads,
           kernel, shape, d, static_cast<const T*>(x), static_cast<const T*>(dy),
           static_cast<float*>(scratch));
  };
  if (d.wide <= 3)
    run(weights_kernel<T, 3>);
  else if (d.wide <= 5)
    run(weights_kernel<T, 5>);
  else
    run(weights_kernel<T, kMostWide>);
  sum_parts(static_cast<const float*>(scratch), blocks, s.inputs * s.kernel_height * s.kernel,
            static_cast<T*>(dw), stream);
}

void run(const ConvShape& s, void* x, void* w, void* y, void* scratch, Stream stream) {
  with_type(s.type, [&]<typename T>(T) {
    switch (s.direction) {
      case Direction::kForward:
        return gather<T, false>(s, x, w, y, stream);
      case Direction::kData:
        return gather<T, true>(s, y, w, x, stream);
      case Direction::kWeights:
        return add_up_weights<T>(s, x, y, w, scratch, stream);
    }
  });
}

}  // namespace

const ConvKernel kDepthwiseKernel = {"depthwise", supports, scratch_bytes, run};

}  // namespace detol::inline trainer::cuda
