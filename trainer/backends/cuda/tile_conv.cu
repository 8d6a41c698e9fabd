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
//
// A block works on many bands, and reads the next one while it computes: what else bounds these
// kernels is the time that memory takes to answer.

#include "trainer/backends/cuda/async_copy.cuh"
#include "trainer/backends/cuda/conv_kernels.h"
#include "trainer/backends/cuda/partial_sums.cuh"
#include "trainer/backends/cuda/tensor_core.cuh"

namespace detol::inline trainer::cuda {
namespace {

constexpr int kWarps = kThreads / 32;
constexpr int kMostTaps = 9;
constexpr int kMostOutputs = 32;
constexpr int kMostWeightInputs = 32;          // backward to the weights
constexpr int kMostPlaces = 560;               // of a band with what surrounds it
constexpr int kMostPairs = 656;                // the same, backward to the weights: see places()
constexpr int kLeastBand = 3;                  // rows: else most of what is read is around them
constexpr int kPacks = kSide / kLanes;         // of a place
constexpr int kBlocks = 3, kWeightBlocks = 2;  // of a multiprocessor, by their registers

// Tiles is a convolution seen as products: it adds up over `inputs` channels of a tensor of images
// x height x width, and writes `outputs` channels.
struct Tiles {
  int images, height, width, inputs, outputs;
  int rows, wide;      // of the window
  int above, beside;   // its pixels before the centre
  int pitch;           // places of a row
  unsigned per_pitch;  // 2^22 / pitch, rounded up
  int band, bands;     // rows of an item, items of an image
  __host__ __device__ int taps() const { return rows * wide; }
  __host__ __device__ int items() const { return images * bands; }
  __host__ __device__ int input_sets() const { return (inputs + kSide - 1) / kSide; }
  __host__ __device__ int output_sets() const { return outputs / kSide; }
  // Returns the places of a band of the output, rounded up to whole matrices.
  __host__ __device__ int out_places() const { return (band * pitch + kSide - 1) / kSide * kSide; }
  // Returns the places that are read for them.
  __host__ __device__ int in_places() const { return out_places() + (rows - 1) * pitch + wide - 1; }
  // Returns the row of a place, which is exact for fewer than 1024 places and pitches below that.
  __device__ int row_of(int place) const {
    return static_cast<int>(static_cast<unsigned>(place) * per_pitch >> 22);
  }
};

bool fits(const Tiles& t, Direction direction) {
  if (direction != Direction::kWeights) return t.in_places() <= kMostPlaces;
  return t.in_places() * t.input_sets() + t.out_places() * t.output_sets() <= kMostPairs;
}

Tiles tiles_of(const ConvShape& s) {
  const bool is_data = s.direction == Direction::kData;
  const auto narrow = [](std::int64_t value) { return static_cast<int>(value); };
  const int pitch = narrow(s.width + s.kernel - 1);
  Tiles t{.images = narrow(s.images),
          .height = narrow(s.height),
          .width = narrow(s.width),
          .inputs = narrow(is_data ? s.outputs : s.inputs),
          .outputs = narrow(is_data ? s.inputs : s.outputs),
          .rows = narrow(s.kernel_height),
          .wide = narrow(s.kernel),
          .above = narrow(s.above),
          .beside = narrow(s.beside),
          .pitch = pitch,
          .per_pitch = (1U << 22) / static_cast<unsigned>(pitch) + 1,
          .band = 1,
          .bands = 1};
  for (t.bands = 1; t.bands <= t.height; ++t.bands) {
    t.band = (t.height + t.bands - 1) / t.bands;
    if (fits(t, s.direction)) break;
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

// Band is what of an image lies in a tile: `count` <= 16 channels from `channel` on of the rows
// from `top` to below `end`; outside of them, and of the image, are zeros.
struct Band {
  const Bfloat16* image;
  int channels, channel, count;  // channels: of the image
  int top, end, left;            // the place of the first pixel
};

// Starts to copy a band into a tile, by all threads of the block.
__device__ void start_band(Bfloat16* tile, int places, const Tiles& t, const Band& band) {
  for (int i = static_cast<int>(threadIdx.x); i < places * kPacks; i += kThreads) {
    const int place = i / kPacks, lane = i % kPacks * kLanes, row = t.row_of(place);
    const int y = band.top + row, x = band.left + place - row * t.pitch;
    const bool is_there = y >= 0 && y < band.end && x >= 0 && x < t.width && lane < band.count;
    const std::int64_t pixel = is_there ? static_cast<std::int64_t>(y) * t.width + x : 0;
    start_copy(tile + half_at(place, i % kPacks),
               band.image + pixel * band.channels + (is_there ? band.channel + lane : 0), is_there);
  }
}

// Lays out the weights of a tap as 16 outputs of 16 inputs. In memory: outputs x taps x inputs or,
// if the convolution is turned (kIsData), inputs x taps x outputs with the taps in reverse.
template <bool kIsData>
__device__ void fill_weights(Bfloat16* to, const Tiles& t, const Bfloat16* weights) {
  const auto taps = static_cast<unsigned>(t.taps());
  const auto count = static_cast<unsigned>(t.outputs * t.taps() * kSide);
  // Order: sets of 16 outputs, taps, outputs, inputs.
#pragma unroll 9
  for (unsigned i = threadIdx.x; i < count; i += kThreads) {
    const unsigned row = i / kSide % kSide;
    const unsigned input = (i % kSide) ^ ((row >> 2 & 1) * kLanes);  // as half_at()
    const unsigned tap = i / kMatrix % taps, output = i / kMatrix / taps * kSide + row;
    if (input >= static_cast<unsigned>(t.inputs))
      to[i] = rounded<Bfloat16>(0);
    else
      to[i] = kIsData ? weights[(input * taps + taps - 1 - tap) * t.outputs + output]
                      : weights[(output * taps + tap) * t.inputs + input];
  }
}

// Calls work(image, top, tile) for the block's items, whose tiles start(image, top, tile) starts to
// copy one item ahead. All threads may read the tile.
template <typename Start, typename Work>
__device__ void for_items(const Tiles& t, Bfloat16* const (&tiles)[2], const Start& start,
                          const Work& work) {
  const int items = t.items(), stride = static_cast<int>(gridDim.x);
  const auto start_item = [&](int item, Bfloat16* tile) {
    if (item < items) start(item / t.bands, item % t.bands * t.band, tile);
    end_copy_group();
  };
  int now = 0;
  start_item(static_cast<int>(blockIdx.x), tiles[now]);
  for (int item = static_cast<int>(blockIdx.x); item < items; item += stride) {
    start_item(item + stride, tiles[1 - now]);
    wait_for_copies<1>();
    __syncthreads();
    work(item / t.bands, item % t.bands * t.band, tiles[now]);
    __syncthreads();  // the item after the next comes there
    now = 1 - now;
  }
}

// Writes a matrix of 16 places x 16 outputs, each pixel's by two lanes. `to`: the first output of
// the image.
__device__ void write_places(Bfloat16* to, const Tiles& t, int top, int first_place,
                             const Bfloat16* result) {
  const int lane = static_cast<int>(threadIdx.x) % 32, half = lane % 2 * kLanes;
  const int place = first_place + lane / 2, row = t.row_of(place);
  const int y = top + row, x = place - row * t.pitch;
  if (row >= t.band || y >= t.height || x >= t.width) return;
  *reinterpret_cast<Pack<Bfloat16>*>(to + (static_cast<std::int64_t>(y) * t.width + x) * t.outputs +
                                     half) = pack_at(result + lane / 2 * kSide + half);
}

template <bool kIsData>
__global__ void __launch_bounds__(kThreads, kBlocks)
    tile_kernel(Tiles t, const Bfloat16* from, const Bfloat16* weights, Bfloat16* to) {
  __shared__ __align__(16) Bfloat16 tiles[2][kMostPlaces * kSide];
  __shared__ __align__(16) Bfloat16 by[kMostOutputs * kMostTaps * kSide];
  __shared__ __align__(16) Bfloat16 results[kWarps * kMatrix];
  fill_weights<kIsData>(by, t, weights);
  __syncthreads();
  const int warp = static_cast<int>(threadIdx.x) / 32, taps = t.taps(), sets = t.output_sets();
  const int set = warp % sets, matrices = t.out_places() / kSide;
  const std::int64_t pixels = static_cast<std::int64_t>(t.height) * t.width;
  const Offsets offsets(t);
  RightMatrix held[kMostTaps];
#pragma unroll
  for (int tap = 0; tap < kMostTaps; ++tap) {
    const Bfloat16* of_tap = by + (set * taps + tap) * kMatrix;
    if (tap < taps)
      read_transposed(held[tap], [&](int i, int half) { return of_tap + half_at(i, half); });
  }
  Bfloat16* result = results + warp * kMatrix;
  const auto start = [&](int image, int top, Bfloat16* tile) {
    start_band(tile, t.in_places(), t,
               {from + image * pixels * t.inputs, t.inputs, 0, t.inputs, top - t.above, t.height,
                -t.beside});
  };
  for_items(t, {tiles[0], tiles[1]}, start, [&](int image, int top, const Bfloat16* tile) {
    for (int m = warp / sets; m < matrices; m += kWarps / sets) {
      const auto read = [&](LeftMatrix& matrix, int tap) {
        const int place = m * kSide + offsets.at[tap];
        read_matrix(matrix, [&](int i, int half) { return tile + half_at(place + i, half); });
      };
      ProductSums sums;
      set_to_zero(sums);
      LeftMatrix next;
      read(next, 0);
#pragma unroll
      for (int tap = 0; tap < kMostTaps; ++tap) {
        if (tap >= taps) continue;
        const LeftMatrix pixels_of_tap = next;
        if (tap + 1 < kMostTaps && tap + 1 < taps) read(next, tap + 1);
        add_product(sums, pixels_of_tap, held[tap]);
      }
      write_sums(result, sums);
      __syncwarp();
      write_places(to + image * pixels * t.outputs + set * kSide, t, top, m * kSide, result);
      __syncwarp();
    }
  });
}

// Adds up what the warps of each pair of 16 outputs and 16 inputs have, and writes it to the
// block's part: outputs x taps x inputs. `results`: shared memory for a matrix of each warp.
__device__ __forceinline__ void write_part(const Tiles& t, const ProductSums (&sums)[kMostTaps],
                                           float* results, float* part) {
  const int out_sets = t.output_sets(), pairs = out_sets * t.input_sets(), taps = t.taps();
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int row = static_cast<int>(threadIdx.x) / kSide;
  const int column = static_cast<int>(threadIdx.x) % kSide;
#pragma unroll
  for (int tap = 0; tap < kMostTaps; ++tap) {
    if (tap >= taps) continue;
    write_sums(results + warp * kMatrix, sums[tap]);
    __syncthreads();
    for (int of = 0; of < pairs; ++of) {
      float sum = 0;
      for (int other = of; other < kWarps; other += pairs)
        sum += results[other * kMatrix + threadIdx.x];
      const int output = of % out_sets * kSide + row, input = of / out_sets * kSide + column;
      if (input < t.inputs) part[(output * taps + tap) * t.inputs + input] = sum;
    }
    __syncthreads();
  }
}

// A warp has a pair of 16 outputs and 16 inputs, and the block's other warps of that pair have
// other places. A tile holds the bands of all sets of inputs, then those of the outputs' gradients.
__global__ void __launch_bounds__(kThreads, kWeightBlocks)
    tile_weights_kernel(Tiles t, const Bfloat16* x, const Bfloat16* dy, float* parts) {
  __shared__ __align__(16) union {
    Bfloat16 tiles[2][kMostPairs * kSide];
    float results[kWarps * kMatrix];
  } shared;
  const int out_sets = t.output_sets(), in_sets = t.input_sets(), pairs = out_sets * in_sets;
  const int warp = static_cast<int>(threadIdx.x) / 32, pair = warp % pairs;
  const int out_set = pair % out_sets, in_set = pair / out_sets;
  const std::int64_t pixels = static_cast<std::int64_t>(t.height) * t.width;
  const int taps = t.taps(), matrices = t.out_places() / kSide;
  const int in_size = t.in_places() * kSide, out_size = t.out_places() * kSide;
  const Offsets offsets(t);
  ProductSums sums[kMostTaps];
#pragma unroll
  for (int tap = 0; tap < kMostTaps; ++tap) set_to_zero(sums[tap]);
  const auto start = [&](int image, int top, Bfloat16* tile) {
    for (int set = 0; set < in_sets; ++set)
      start_band(tile + set * in_size, t.in_places(), t,
                 {x + image * pixels * t.inputs, t.inputs, set * kSide, t.inputs - set * kSide,
                  top - t.above, t.height, -t.beside});
    for (int set = 0; set < out_sets; ++set)
      start_band(tile + in_sets * in_size + set * out_size, t.out_places(), t,
                 {dy + image * pixels * t.outputs, t.outputs, set * kSide, kSide, top,
                  min(t.height, top + t.band), 0});
  };
  for_items(t, {shared.tiles[0], shared.tiles[1]}, start, [&](int, int, const Bfloat16* tile) {
    const Bfloat16* inputs = tile + in_set * in_size;
    const Bfloat16* gradient = tile + in_sets * in_size + out_set * out_size;
    for (int m = warp / pairs; m < matrices; m += kWarps / pairs) {
      const auto read = [&](RightMatrix& matrix, int tap) {
        const int place = m * kSide + offsets.at[tap];
        read_matrix(matrix, [&](int i, int half) { return inputs + half_at(place + i, half); });
      };
      LeftMatrix gradients;
      read_transposed(gradients,
                      [&](int i, int half) { return gradient + half_at(m * kSide + i, half); });
      RightMatrix next;
      read(next, 0);
#pragma unroll
      for (int tap = 0; tap < kMostTaps; ++tap) {
        if (tap >= taps) continue;
        const RightMatrix pixels_of_tap = next;
        if (tap + 1 < kMostTaps && tap + 1 < taps) read(next, tap + 1);
        add_product(sums[tap], gradients, pixels_of_tap);
      }
    }
  });
  write_part(t, sums, shared.results,
             parts + static_cast<std::int64_t>(blockIdx.x) * t.outputs * taps * t.inputs);
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
  const bool is_narrow =
      s.direction == Direction::kWeights
          ? reduced <= kMostWeightInputs && (reduced < kSide || reduced % kSide == 0)
          : reduced <= kSide;
  if (!is_narrow || written > kMostOutputs || written % kSide != 0) return false;
  const Tiles t = tiles_of(s);
  return fits(t, s.direction) && t.band >= std::min(t.height, kLeastBand);
}

unsigned grid_of(const Tiles& t, int blocks) {
  return static_cast<unsigned>(std::min(t.items(), blocks * device().multiprocessors));
}

std::size_t scratch_bytes(const ConvShape& s) {
  if (s.direction != Direction::kWeights) return 0;
  return grid_of(tiles_of(s), kWeightBlocks) *
         static_cast<std::size_t>(s.outputs * s.kernel_height * s.kernel * s.inputs) *
         sizeof(float);
}

template <bool kIsData>
void products(const ConvShape& s, const void* from, const void* w, void* to, Stream stream) {
  const Tiles t = tiles_of(s);
  launch(stream, dim3(grid_of(t, kBlocks)), kThreads, tile_kernel<kIsData>, t,
         static_cast<const Bfloat16*>(from), static_cast<const Bfloat16*>(w),
         static_cast<Bfloat16*>(to));
}

void run(const ConvShape& s, void* x, void* w, void* y, void* scratch, Stream stream) {
  if (s.direction == Direction::kForward) return products<false>(s, x, w, y, stream);
  if (s.direction == Direction::kData) return products<true>(s, y, w, x, stream);
  const Tiles t = tiles_of(s);
  const unsigned blocks = grid_of(t, kWeightBlocks);
  launch(stream, dim3(blocks), kThreads, tile_weights_kernel, t, static_cast<const Bfloat16*>(x),
         static_cast<const Bfloat16*>(y), static_cast<float*>(scratch));
  sum_parts(static_cast<const float*>(scratch), blocks,
            static_cast<std::int64_t>(t.outputs) * t.taps() * t.inputs, static_cast<Bfloat16*>(w),
            stream);
}

}  // namespace

const ConvKernel kTileKernel = {"tiles", supports, scratch_bytes, run};

}  // namespace detol::inline trainer::cuda
