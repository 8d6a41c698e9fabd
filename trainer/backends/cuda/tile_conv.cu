// Convolutions of at most 16 channels on tensor cores, stride 1, by bands of an image's rows.
//
// A block lays a band of the image and the rows around it into shared memory, with zeros around it
// and 16 channels a pixel. Seen as one sequence of pixels, in which a row takes `pitch` places, the
// input of every tap is the band moved by r pitch + s places: a product of 16 places x 16 channels
// by 16 channels x 16 outputs adds up a tap, and nothing is copied. The places beyond the end of a
// row are computed in vain: one in 17 for rows of 32.
//
// Backward to the input it is the same with the window turned and inputs and outputs exchanged.
// Backward to the weights, a tap is the product of 16 outputs x 16 places by 16 places x 16
// channels, added up over all places.

#include "trainer/backends/cuda/conv_kernels.h"
#include "trainer/backends/cuda/partial_sums.cuh"
#include "trainer/backends/cuda/tensor_core.cuh"

namespace detol::inline trainer::cuda {
namespace {

constexpr int kWarps = kThreads / 32;
constexpr int kMostTaps = 9;
constexpr int kMostOutputs = 32;
constexpr int kMostWeightInputs = 32;   // backward to the weights
constexpr int kMostPlaces = 768;        // of a band with what surrounds it
constexpr int kMostOutPlaces = 576;     // of the band
constexpr int kLeastBand = 4;           // rows: else most of what is read is around them
constexpr int kPacks = kSide / kLanes;  // of a place

// Tiles is a convolution seen as products: it adds up over `inputs` channels of a tensor of images
// x height x width, and writes `outputs` channels.
struct Tiles {
  int images, height, width, inputs, outputs;
  int rows, wide;     // of the window
  int above, beside;  // its pixels before the centre
  int pitch;          // places of a row
  int band, bands;    // rows of a block, blocks of an image
  __host__ __device__ int taps() const { return rows * wide; }
  // Returns the places of a band of the output, rounded up to whole matrices.
  __host__ __device__ int out_places() const { return (band * pitch + kSide - 1) / kSide * kSide; }
  // Returns the places that are read for them.
  __host__ __device__ int in_places() const { return out_places() + (rows - 1) * pitch + wide - 1; }
  bool fits() const { return in_places() <= kMostPlaces && out_places() <= kMostOutPlaces; }
};

Tiles tiles_of(const ConvShape& s, bool is_data) {
  const auto narrow = [](std::int64_t value) { return static_cast<int>(value); };
  Tiles t{.images = narrow(s.images),
          .height = narrow(s.height),
          .width = narrow(s.width),
          .inputs = narrow(is_data ? s.outputs : s.inputs),
          .outputs = narrow(is_data ? s.inputs : s.outputs),
          .rows = narrow(s.kernel_height),
          .wide = narrow(s.kernel),
          .above = narrow(s.above),
          .beside = narrow(s.beside),
          .pitch = narrow(s.width + s.kernel - 1),
          .band = 1,
          .bands = 1};
  for (t.bands = 1; t.bands <= t.height; ++t.bands) {
    t.band = (t.height + t.bands - 1) / t.bands;
    if (t.fits()) break;
  }
  return t;
}

// Returns where half of a place's channels are in a tile. Neighbouring places take the halves in
// another order, so that 8 places are read at once from all banks.
__device__ int half_at(int place, int half) {
  return place * kSide + (half ^ (place >> 2 & 1)) * kLanes;
}

// The offsets in places of the taps that a band is moved by.
struct Offsets {
  int at[kMostTaps];
  __device__ explicit Offsets(const Tiles& t) {
    for (int tap = 0; tap < kMostTaps; ++tap) at[tap] = tap / t.wide * t.pitch + tap % t.wide;
  }
};

// Calls put(i, fetch(i)) for all i below count, by all threads of the block; a thread fetches
// kAhead values before it puts them, so that it waits for the memory once.
template <int kAhead, typename Fetch, typename Put>
__device__ void fetch_and_put(int count, const Fetch& fetch, const Put& put) {
  for (int first = static_cast<int>(threadIdx.x); first < count; first += kAhead * kThreads) {
    decltype(fetch(0)) fetched[kAhead];
#pragma unroll
    for (int j = 0; j < kAhead; ++j) {
      if (first + j * kThreads < count) fetched[j] = fetch(first + j * kThreads);
    }
#pragma unroll
    for (int j = 0; j < kAhead; ++j) {
      if (first + j * kThreads < count) put(first + j * kThreads, fetched[j]);
    }
  }
}

// Band is what of an image lies in a tile: `count` <= 16 channels from `channel` on of the rows
// from `top` to below `end`; outside of them, and of the image, are zeros.
struct Band {
  const Bfloat16* image;
  int channels, channel, count;  // channels: of the image
  int top, end, left;            // the place of the first pixel
};

__device__ void fill(Bfloat16* tile, int places, const Tiles& t, const Band& band) {
  const auto fetch = [&](int i) {
    const unsigned place = static_cast<unsigned>(i) / kPacks;
    const unsigned row = place / static_cast<unsigned>(t.pitch);
    const int lane = i % kPacks * kLanes, y = band.top + static_cast<int>(row);
    const int x = band.left + static_cast<int>(place - row * static_cast<unsigned>(t.pitch));
    if (y < 0 || y >= band.end || x < 0 || x >= t.width || lane >= band.count)
      return Pack<Bfloat16>{};
    return pack_at(band.image + (static_cast<std::int64_t>(y) * t.width + x) * band.channels +
                   band.channel + lane);
  };
  fetch_and_put<5>(places * kPacks, fetch, [&](int i, const Pack<Bfloat16>& pack) {
    *reinterpret_cast<Pack<Bfloat16>*>(tile + half_at(i / kPacks, i % kPacks)) = pack;
  });
}

// Lays out the weights of a tap as 16 outputs of 16 inputs. In memory: outputs x taps x inputs or,
// if the convolution is turned (kIsData), inputs x taps x outputs with the taps in reverse.
template <bool kIsData>
__device__ void fill_weights(Bfloat16* to, const Tiles& t, const Bfloat16* weights) {
  const auto taps = static_cast<unsigned>(t.taps());
  // Order: sets of 16 outputs, taps, outputs, inputs.
  const auto fetch = [&](int i) {
    const auto index = static_cast<unsigned>(i);
    const unsigned row = index / kSide % kSide;
    const unsigned input = (index % kSide) ^ ((row >> 2 & 1) * kLanes);  // as half_at()
    const unsigned tap = index / kMatrix % taps, output = index / kMatrix / taps * kSide + row;
    if (input >= static_cast<unsigned>(t.inputs)) return rounded<Bfloat16>(0);
    return kIsData ? weights[(input * taps + taps - 1 - tap) * t.outputs + output]
                   : weights[(output * taps + tap) * t.inputs + input];
  };
  fetch_and_put<kMostTaps>(t.outputs * t.taps() * kSide, fetch,
                           [&](int i, Bfloat16 weight) { to[i] = weight; });
}

template <bool kIsData>
__global__ void __launch_bounds__(kThreads, 4)
    tile_kernel(Tiles t, const Bfloat16* from, const Bfloat16* weights, Bfloat16* to) {
  __shared__ __align__(16) Bfloat16 tile[kMostPlaces * kSide];
  __shared__ __align__(16) Bfloat16 by[kMostOutputs * kMostTaps * kSide];
  __shared__ __align__(16) Bfloat16 results[kWarps * kMatrix];
  const int image = static_cast<int>(blockIdx.x) / t.bands;
  const int top = static_cast<int>(blockIdx.x) % t.bands * t.band;
  const std::int64_t pixels = static_cast<std::int64_t>(t.height) * t.width;
  fill(tile, t.in_places(), t,
       {from + image * pixels * t.inputs, t.inputs, 0, t.inputs, top - t.above, t.height,
        -t.beside});
  fill_weights<kIsData>(by, t, weights);
  __syncthreads();
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const int taps = t.taps(), sets = t.outputs / kSide, matrices = t.out_places() / kSide;
  const Offsets offsets(t);
  Bfloat16* result = results + warp * kMatrix;
  for (int set = warp % sets; set < sets; set += kWarps) {
    RightMatrix held[kMostTaps];
#pragma unroll
    for (int tap = 0; tap < kMostTaps; ++tap) {
      const Bfloat16* from = by + (set * taps + tap) * kMatrix;
      if (tap < taps)
        read_transposed(held[tap], [&](int i, int half) { return from + half_at(i, half); });
    }
    for (int m = warp / sets; m < matrices; m += kWarps / sets) {
      ProductSums sums;
      set_to_zero(sums);
#pragma unroll
      for (int tap = 0; tap < kMostTaps; ++tap) {
        if (tap >= taps) continue;
        const int place = m * kSide + offsets.at[tap];
        LeftMatrix pixels_of_tap;
        read_matrix(pixels_of_tap,
                    [&](int i, int half) { return tile + half_at(place + i, half); });
        add_product(sums, pixels_of_tap, held[tap]);
      }
      write_sums(result, sums);
      __syncwarp();
      // Two lanes a place.
      const int place = m * kSide + lane / 2, first = lane % 2 * kLanes;
      const int y = top + place / t.pitch, x = place % t.pitch;
      if (place < t.band * t.pitch && y < t.height && x < t.width) {
        Bfloat16* out = to +
                        (image * pixels + static_cast<std::int64_t>(y) * t.width + x) * t.outputs +
                        set * kSide + first;
        *reinterpret_cast<Pack<Bfloat16>*>(out) = pack_at(result + lane / 2 * kSide + first);
      }
      __syncwarp();
    }
  }
}

// The block adds up over some bands; its part holds the gradients of 16 outputs, blockIdx.y's, and
// 16 inputs, blockIdx.z's.
__global__ void __launch_bounds__(kThreads, 2)
    tile_weights_kernel(Tiles t, const Bfloat16* x, const Bfloat16* dy, float* parts) {
  __shared__ __align__(16) Bfloat16 tile[kMostPlaces * kSide];
  __shared__ __align__(16) union {
    Bfloat16 gradient[kMostOutPlaces * kSide];
    float results[kWarps * kMatrix];
  } shared;
  const int first = static_cast<int>(blockIdx.y) * kSide;
  const int channel = static_cast<int>(blockIdx.z) * kSide, count = min(kSide, t.inputs - channel);
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const std::int64_t pixels = static_cast<std::int64_t>(t.height) * t.width;
  const int taps = t.taps(), matrices = t.out_places() / kSide;
  const Offsets offsets(t);
  ProductSums sums[kMostTaps];
#pragma unroll
  for (int tap = 0; tap < kMostTaps; ++tap) set_to_zero(sums[tap]);
  for (int item = static_cast<int>(blockIdx.x); item < t.images * t.bands;
       item += static_cast<int>(gridDim.x)) {
    const int image = item / t.bands, top = item % t.bands * t.band;
    __syncthreads();
    fill(tile, t.in_places(), t,
         {x + image * pixels * t.inputs, t.inputs, channel, count, top - t.above, t.height,
          -t.beside});
    fill(shared.gradient, t.out_places(), t,
         {dy + image * pixels * t.outputs, t.outputs, first, kSide, top,
          min(t.height, top + t.band), 0});
    __syncthreads();
    for (int m = warp; m < matrices; m += kWarps) {
      LeftMatrix gradients;
      read_transposed(gradients, [&](int i, int half) {
        return shared.gradient + half_at(m * kSide + i, half);
      });
#pragma unroll
      for (int tap = 0; tap < kMostTaps; ++tap) {
        if (tap >= taps) continue;
        const int place = m * kSide + offsets.at[tap];
        RightMatrix pixels_of_tap;
        read_matrix(pixels_of_tap,
                    [&](int i, int half) { return tile + half_at(place + i, half); });
        add_product(sums[tap], gradients, pixels_of_tap);
      }
    }
  }
  float* part = parts + static_cast<std::int64_t>(blockIdx.x) * t.outputs * taps * t.inputs;
  const int output = static_cast<int>(threadIdx.x) / kSide;
  const int input = static_cast<int>(threadIdx.x) % kSide;
#pragma unroll
  for (int tap = 0; tap < kMostTaps; ++tap) {
    if (tap >= taps) continue;
    __syncthreads();
    write_sums(shared.results + warp * kMatrix, sums[tap]);
    __syncthreads();
    float sum = 0;
    for (int of = 0; of < kWarps; ++of) sum += shared.results[of * kMatrix + threadIdx.x];
    if (input < count) part[((first + output) * taps + tap) * t.inputs + channel + input] = sum;
  }
}

static_assert(kMatrix == kThreads);

bool supports(const ConvShape& s) {
  const bool is_data = s.direction == Direction::kData;
  const std::int64_t reduced = is_data ? s.outputs : s.inputs;
  const std::int64_t written = is_data ? s.inputs : s.outputs;
  const auto is_centred = [](std::int64_t window, std::int64_t before) {
    return window % 2 == 1 && before == window / 2;
  };
  if (s.type != Type::kBfloat16 || s.groups != 1 || s.stride != 1 || s.dilation != 1) return false;
  if (!is_centred(s.kernel_height, s.above) || !is_centred(s.kernel, s.beside)) return false;
  if (s.kernel_height * s.kernel > kMostTaps || s.images * s.height > (1 << 30)) return false;
  const bool fits = s.direction == Direction::kWeights
                        ? reduced <= kMostWeightInputs && (reduced < kSide || reduced % kSide == 0)
                        : reduced <= kSide;
  if (!fits || written > kMostOutputs || written % kSide != 0) return false;
  const Tiles t = tiles_of(s, is_data);
  return t.fits() && t.band >= std::min(t.height, kLeastBand);
}

dim3 weight_grid(const Tiles& t) {
  const int outputs = t.outputs / kSide, inputs = (t.inputs + kSide - 1) / kSide;
  const int most = std::max(1, 2 * device().multiprocessors / (outputs * inputs));
  return dim3(static_cast<unsigned>(std::min(t.images * t.bands, most)),
              static_cast<unsigned>(outputs), static_cast<unsigned>(inputs));
}

std::size_t scratch_bytes(const ConvShape& s) {
  if (s.direction != Direction::kWeights) return 0;
  return weight_grid(tiles_of(s, false)).x *
         static_cast<std::size_t>(s.outputs * s.kernel_height * s.kernel * s.inputs) *
         sizeof(float);
}

template <bool kIsData>
void products(const ConvShape& s, const void* from, const void* w, void* to, Stream stream) {
  const Tiles t = tiles_of(s, kIsData);
  launch(stream, dim3(static_cast<unsigned>(t.images * t.bands)), kThreads, tile_kernel<kIsData>, t,
         static_cast<const Bfloat16*>(from), static_cast<const Bfloat16*>(w),
         static_cast<Bfloat16*>(to));
}

void run(const ConvShape& s, void* x, void* w, void* y, void* scratch, Stream stream) {
  if (s.direction == Direction::kForward) return products<false>(s, x, w, y, stream);
  if (s.direction == Direction::kData) return products<true>(s, y, w, x, stream);
  const Tiles t = tiles_of(s, false);
  const dim3 grid = weight_grid(t);
  launch(stream, grid, kThreads, tile_weights_kernel, t, static_cast<const Bfloat16*>(x),
         static_cast<const Bfloat16*>(y), static_cast<float*>(scratch));
  sum_parts(static_cast<const float*>(scratch), grid.x,
            static_cast<std::int64_t>(t.outputs) * t.taps() * t.inputs, static_cast<Bfloat16*>(w),
            stream);
}

}  // namespace

const ConvKernel kTileKernel = {"tiles", supports, scratch_bytes, run};

}  // namespace detol::inline trainer::cuda
