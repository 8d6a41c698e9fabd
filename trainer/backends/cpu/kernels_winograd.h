#pragma once

// Convolutions of 3 x 3 taps by Winograd F(4 x 4, 3 x 3): a tile of 4 x 4
// outputs takes 36 multiplications per pair of channels instead of 144 (Lavin and Gray, 2016, arXiv
// 1509.09308). The matrices are Toom and Cook's for the points 0, 1/sqrt 2, -1/sqrt 2, sqrt 2,
// -sqrt 2 and infinity. Points decide the rounding error (Barabasz, Anderson, Soodhalter and Gregg,
// 2018, arXiv 1803.10986): with these it is two to three times that of a direct convolution, with
// the usual 0, +-1, +-2 four times (random tensors of 16 and 64 channels, root mean square).
//
//   forward    y  = A^T [(G w G^T) * (B^T x B)] A      sum over input channels: 36 matrix products
//   backward   dx: the same with the taps rotated by 180 degrees and the channels' roles swapped
//   weights    dw = G^T [(B^T x B) * (A g A^T)] G      sum over tiles: 36 matrix products
//
// Tiles are processed in chunks that stay in the second-level cache. Transformed tensors are 36 x
// tiles x channels, transformed weights 36 x inputs x outputs; weights come in blocks of registers,
// O/lanes x I/lanes x 9 x lanes (inputs) x lanes (outputs). A tile at the border reads zeros
// outside the image.

#include "trainer/backends/cpu/kernels.h"
#include "trainer/backends/cpu/kernels_element.h"
#include "trainer/backends/cpu/kernels_winograd_points.h"
#include "trainer/backends/cpu/lanes.h"

namespace detol::inline trainer::cpu {
namespace {

constexpr std::ptrdiff_t kPoints = 36;

// Floats from one point to the next. Not a power of two: a tile's 36 points would then fall into
// the same few lines of the first-level cache.
inline std::ptrdiff_t tiles_plane(std::ptrdiff_t channels) {
  return kWinogradTiles * channels + kWinogradGap;
}
inline std::ptrdiff_t weights_plane(std::ptrdiff_t inputs, std::ptrdiff_t outputs) {
  return inputs * outputs + kWinogradGap;
}

// TilePlace is the image and the first row and column of a tile.
struct TilePlace {
  std::ptrdiff_t image, top, left;
};
inline TilePlace tile_of(const Extent& e, std::ptrdiff_t number) {
  const std::ptrdiff_t across = (e.width + 3) / 4, down = (e.height + 3) / 4;
  return {number / (across * down), number / across % down * 4, number % across * 4};
}

// TileView points to the values of a tile, `row` floats from one row to the next.
struct TileView {
  const float* from;
  std::ptrdiff_t row;
};

// Returns the kSide x kSide values from (top, left) on: in the image's own memory, or, if the tile
// crosses the border, in `copy`, padded with zeros.
template <std::ptrdiff_t kSide>
inline TileView view_of(const Extent& e, const float* image, std::ptrdiff_t top,
                        std::ptrdiff_t left, Lanes copy[kSide * kSide]) {
  if (top >= 0 && left >= 0 && top + kSide <= e.height && left + kSide <= e.width)
    return {image + (top * e.width + left) * kLanes, e.width * kLanes};
  const std::ptrdiff_t up = top < 0 ? -top : 0, before = left < 0 ? -left : 0;
  const std::ptrdiff_t rows = e.height - top < kSide ? e.height - top : kSide;
  const std::ptrdiff_t columns = e.width - left < kSide ? e.width - left : kSide;
  for (std::ptrdiff_t i = 0; i < kSide * kSide; ++i) copy[i] = Lanes{};
  for (std::ptrdiff_t i = up; i < rows; ++i) {
    const float* row = image + ((top + i) * e.width + left) * kLanes;
    for (std::ptrdiff_t j = before; j < columns; ++j) copy[i * kSide + j] = load(row + j * kLanes);
  }
  return {reinterpret_cast<const float*>(copy), kSide * kLanes};
}

// Transforms the tiles [first, end) to points x tiles x channels.
void transform_input(const Extent& e, const float* x, std::ptrdiff_t first, std::ptrdiff_t end,
                     float* v) {
  const std::ptrdiff_t channels = e.blocks * kLanes, plane = tiles_plane(channels);
  for (std::ptrdiff_t t = first; t < end; ++t) {
    const TilePlace tile = tile_of(e, t);
    for (std::ptrdiff_t block = 0; block < e.blocks; ++block) {
      Lanes copy[36], d[6][6];
      const TileView view =
          view_of<6>(e, x + (tile.image * e.blocks + block) * e.positions() * kLanes, tile.top - 1,
                     tile.left - 1, copy);
      for (int j = 0; j < 6; ++j) {
        for (int i = 0; i < 6; ++i) d[i][j] = load(view.from + i * view.row + j * kLanes);
        to_points(d[0][j], d[1][j], d[2][j], d[3][j], d[4][j], d[5][j]);
      }
      float* to = v + (t - first) * channels + block * kLanes;
      for (int i = 0; i < 6; ++i, to += 6 * plane) {
        to_points(d[i][0], d[i][1], d[i][2], d[i][3], d[i][4], d[i][5]);
        for (int j = 0; j < 6; ++j) store(to + j * plane, d[i][j]);
      }
    }
  }
}

void transform_gradient(const Extent& e, const float* g, std::ptrdiff_t first, std::ptrdiff_t end,
                        float* v) {
  const std::ptrdiff_t channels = e.blocks * kLanes, plane = tiles_plane(channels);
  for (std::ptrdiff_t t = first; t < end; ++t) {
    const TilePlace tile = tile_of(e, t);
    for (std::ptrdiff_t block = 0; block < e.blocks; ++block) {
      Lanes copy[16], half[6][4];
      const TileView view =
          view_of<4>(e, g + (tile.image * e.blocks + block) * e.positions() * kLanes, tile.top,
                     tile.left, copy);
      for (int j = 0; j < 4; ++j) {
        Lanes column[4], points[6];
        for (int i = 0; i < 4; ++i) column[i] = load(view.from + i * view.row + j * kLanes);
        gradient_to_points(column, points);
        for (int i = 0; i < 6; ++i) half[i][j] = points[i];
      }
      float* to = v + (t - first) * channels + block * kLanes;
      for (int i = 0; i < 6; ++i) {
        Lanes points[6];
        gradient_to_points(half[i], points);
        for (int j = 0; j < 6; ++j) store(to + (i * 6 + j) * plane, points[j]);
      }
    }
  }
}

void transform_output(const Extent& e, const float* m, const float* bias, std::ptrdiff_t first,
                      std::ptrdiff_t end, float* y) {
  const std::ptrdiff_t channels = e.blocks * kLanes, plane = tiles_plane(channels);
  for (std::ptrdiff_t t = first; t < end; ++t) {
    const TilePlace tile = tile_of(e, t);
    const std::ptrdiff_t rows = e.height - tile.top < 4 ? e.height - tile.top : 4;
    const std::ptrdiff_t columns = e.width - tile.left < 4 ? e.width - tile.left : 4;
    for (std::ptrdiff_t block = 0; block < e.blocks; ++block) {
      const float* from = m + (t - first) * channels + block * kLanes;
      Lanes half[4][6];
      for (int j = 0; j < 6; ++j) {
        Lanes column[6], four[4];
        for (int i = 0; i < 6; ++i) column[i] = load(from + (i * 6 + j) * plane);
        from_points(column, four);
        for (int i = 0; i < 4; ++i) half[i][j] = four[i];
      }
      const Lanes offset = bias != nullptr ? load(bias + block * kLanes) : Lanes{};
      float* to =
          y + ((tile.image * e.blocks + block) * e.positions() + tile.top * e.width + tile.left) *
                  kLanes;
      for (std::ptrdiff_t i = 0; i < rows; ++i) {
        Lanes four[4];
        from_points(half[i], four);
        for (std::ptrdiff_t j = 0; j < columns; ++j)
          store(to + (i * e.width + j) * kLanes, four[j] + offset);
      }
    }
  }
}

// Returns the offset of the register of weights of (tap 0, input, block of outputs); taps are
// kTapFloats apart.
constexpr std::ptrdiff_t kTapFloats = kLanes * kLanes;
inline std::ptrdiff_t weight_at(std::ptrdiff_t inputs, std::ptrdiff_t input, std::ptrdiff_t block) {
  return (block * (inputs / kLanes) + input / kLanes) * 9 * kTapFloats + input % kLanes * kLanes;
}

// Calls visit(offset of tap 0, offset in inputs x outputs) for every register of outputs.
template <typename Visit>
inline void for_weights(std::ptrdiff_t inputs, std::ptrdiff_t outputs, Visit visit) {
  for (std::ptrdiff_t i = 0; i < inputs; ++i) {
    for (std::ptrdiff_t o = 0; o < outputs; o += kLanes)
      visit(weight_at(inputs, i, o / kLanes), i * outputs + o);
  }
}

// Transforms 9 taps to 36 x inputs x outputs.
void transform_weights(std::ptrdiff_t inputs, std::ptrdiff_t outputs, const float* w, float* u) {
  const std::ptrdiff_t plane = weights_plane(inputs, outputs);
  for_weights(inputs, outputs, [&](std::ptrdiff_t from, std::ptrdiff_t at) {
    Lanes half[6][3];
    for (int j = 0; j < 3; ++j) {
      Lanes column[3], points[6];
      for (int i = 0; i < 3; ++i) column[i] = load(w + from + (i * 3 + j) * kTapFloats);
      weight_to_points(column, points);
      for (int i = 0; i < 6; ++i) half[i][j] = points[i];
    }
    for (int i = 0; i < 6; ++i) {
      Lanes points[6];
      weight_to_points(half[i], points);
      for (int j = 0; j < 6; ++j) store(u + (i * 6 + j) * plane + at, points[j]);
    }
  });
}

void transform_weights_back(std::ptrdiff_t inputs, std::ptrdiff_t outputs, const float* u,
                            float* w) {
  const std::ptrdiff_t plane = weights_plane(inputs, outputs);
  for_weights(inputs, outputs, [&](std::ptrdiff_t to, std::ptrdiff_t at) {
    Lanes half[3][6];
    for (int j = 0; j < 6; ++j) {
      Lanes column[6], three[3];
      for (int i = 0; i < 6; ++i) column[i] = load(u + (i * 6 + j) * plane + at);
      weight_from_points(column, three);
      for (int i = 0; i < 3; ++i) half[i][j] = three[i];
    }
    for (int i = 0; i < 3; ++i) {
      Lanes three[3];
      weight_from_points(half[i], three);
      for (int j = 0; j < 3; ++j) store(w + to + (i * 3 + j) * kTapFloats, three[j]);
    }
  });
}

// Rotates taps by 180 degrees and swaps channels, which gives the weights of a convolution from
// outputs to inputs.
void rotate_weights(std::ptrdiff_t inputs, std::ptrdiff_t outputs, const float* w, float* rotated) {
  for (std::ptrdiff_t i = 0; i < inputs; ++i) {
    for (std::ptrdiff_t o = 0; o < outputs; ++o) {
      const float* from = w + weight_at(inputs, i, o / kLanes) + o % kLanes;
      float* to = rotated + weight_at(outputs, o, i / kLanes) + i % kLanes;
      for (std::ptrdiff_t tap = 0; tap < 9; ++tap)
        to[tap * kTapFloats] = from[(8 - tap) * kTapFloats];
    }
  }
}

// Computes kRows x kColumns registers of m = v u; rows of v are `inputs` apart, those of m
// `outputs`.
template <int kColumns>
inline __attribute__((always_inline)) void product_block(const float* v, const float* u,
                                                         std::ptrdiff_t inputs,
                                                         std::ptrdiff_t outputs, float* m) {
  Lanes sum[kRows][kColumns] = {};
  const float* rows[kRows / 3];  // few pointers, so that all of them stay in registers
  for (std::ptrdiff_t g = 0; g < kRows / 3; ++g) rows[g] = v + 3 * g * inputs;
  for (std::ptrdiff_t k = 0; k < inputs; ++k, u += outputs) {
    Lanes right[kColumns];
    for (int c = 0; c < kColumns; ++c) right[c] = load(u + c * kLanes);
    for (std::ptrdiff_t g = 0; g < kRows / 3; ++g) {
      for (std::ptrdiff_t r = 0; r < 3; ++r) {
        const Lanes left = all(rows[g][r * inputs]);
        for (int c = 0; c < kColumns; ++c)
          sum[3 * g + r][c] = multiply_add(left, right[c], sum[3 * g + r][c]);
      }
      ++rows[g];
    }
  }
  for (std::ptrdiff_t r = 0; r < kRows; ++r) {
    for (int c = 0; c < kColumns; ++c) store(m + r * outputs + c * kLanes, sum[r][c]);
  }
}

// Computes m (tiles x outputs) = v (tiles x inputs) u (inputs x outputs); `tiles` is rounded up to
// kRows.
__attribute__((noinline)) void product(std::ptrdiff_t tiles, std::ptrdiff_t inputs,
                                       std::ptrdiff_t outputs, const float* v, const float* u,
                                       float* m) {
  std::ptrdiff_t o = 0;
  for (; o + 2 * kLanes <= outputs; o += 2 * kLanes) {
    for (std::ptrdiff_t t = 0; t < tiles; t += kRows)
      product_block<2>(v + t * inputs, u + o, inputs, outputs, m + t * outputs + o);
  }
  for (; o < outputs; o += kLanes) {
    for (std::ptrdiff_t t = 0; t < tiles; t += kRows)
      product_block<1>(v + t * inputs, u + o, inputs, outputs, m + t * outputs + o);
  }
}

// Computes 4 x kColumns registers of u += v^T m.
template <int kColumns>
inline __attribute__((always_inline)) void outer_block(const float* v, const float* m,
                                                       std::ptrdiff_t tiles, std::ptrdiff_t inputs,
                                                       std::ptrdiff_t outputs, float* u) {
  Lanes sum[4][kColumns];
  for (int r = 0; r < 4; ++r) {
    for (int c = 0; c < kColumns; ++c) sum[r][c] = load(u + r * outputs + c * kLanes);
  }
  for (std::ptrdiff_t t = 0; t < tiles; ++t, v += inputs, m += outputs) {
    Lanes right[kColumns];
    for (int c = 0; c < kColumns; ++c) right[c] = load(m + c * kLanes);
    for (int r = 0; r < 4; ++r) {
      const Lanes left = all(v[r]);
      for (int c = 0; c < kColumns; ++c) sum[r][c] = multiply_add(left, right[c], sum[r][c]);
    }
  }
  for (int r = 0; r < 4; ++r) {
    for (int c = 0; c < kColumns; ++c) store(u + r * outputs + c * kLanes, sum[r][c]);
  }
}

// Computes u (inputs x outputs) += v^T (tiles x inputs) m (tiles x outputs).
__attribute__((noinline)) void outer_product(std::ptrdiff_t tiles, std::ptrdiff_t inputs,
                                             std::ptrdiff_t outputs, const float* v, const float* m,
                                             float* u) {
  std::ptrdiff_t o = 0;
  for (; o + 2 * kLanes <= outputs; o += 2 * kLanes) {
    for (std::ptrdiff_t i = 0; i < inputs; i += 4)
      outer_block<2>(v + i, m + o, tiles, inputs, outputs, u + i * outputs + o);
  }
  for (; o < outputs; o += kLanes) {
    for (std::ptrdiff_t i = 0; i < inputs; i += 4)
      outer_block<1>(v + i, m + o, tiles, inputs, outputs, u + i * outputs + o);
  }
}

// WinogradScratch divides the scratch memory: transformed weights, inputs, outputs.
struct WinogradScratch {
  float *u, *v, *m;
};
inline WinogradScratch divide_scratch(float* scratch, std::ptrdiff_t inputs,
                                      std::ptrdiff_t outputs) {
  float* v = scratch + kPoints * weights_plane(inputs, outputs);
  return {scratch, v, v + kPoints * tiles_plane(inputs)};
}

inline std::ptrdiff_t tiles_of(const Extent& e) {
  return e.images * ((e.height + 3) / 4) * ((e.width + 3) / 4);
}

// Calls visit(first tile, end) for every chunk.
template <typename Visit>
inline void for_chunks(const Extent& e, Visit visit) {
  const std::ptrdiff_t tiles = tiles_of(e);
  for (std::ptrdiff_t first = 0; first < tiles; first += kWinogradTiles) {
    const std::ptrdiff_t left = tiles - first;
    visit(first, first + (left < kWinogradTiles ? left : kWinogradTiles));
  }
}

void winograd(const Extent& in, const Extent& out, const float* x, const float* w,
              const float* bias, float* y, float* scratch) {
  const std::ptrdiff_t inputs = in.blocks * kLanes, outputs = out.blocks * kLanes;
  const WinogradScratch buffers = divide_scratch(scratch, inputs, outputs);
  transform_weights(inputs, outputs, w, buffers.u);
  // product() reads v in whole blocks: beyond a smaller last chunk it reads tiles of the chunk
  // before, or these zeros.
  const auto bytes = static_cast<std::size_t>(kPoints * tiles_plane(inputs)) * sizeof(float);
  if (tiles_of(in) < kWinogradTiles) __builtin_memset(buffers.v, 0, bytes);
  for_chunks(in, [&](std::ptrdiff_t first, std::ptrdiff_t end) {
    transform_input(in, x, first, end, buffers.v);
    for (std::ptrdiff_t p = 0; p < kPoints; ++p) {
      product(end - first, inputs, outputs, buffers.v + p * tiles_plane(inputs),
              buffers.u + p * weights_plane(inputs, outputs), buffers.m + p * tiles_plane(outputs));
    }
    transform_output(out, buffers.m, bias, first, end, y);
  });
}

void winograd_backward(const Extent& in, const Extent& out, const float* g, const float* w,
                       float* dx, float* scratch) {
  const std::ptrdiff_t inputs = in.blocks * kLanes, outputs = out.blocks * kLanes;
  rotate_weights(inputs, outputs, w, scratch);
  winograd(out, in, g, scratch, nullptr, dx, scratch + 9 * inputs * outputs);
}

void winograd_weights(const Extent& in, const Extent& out, const float* x, const float* g,
                      float* dw, float* dbias, float* scratch) {
  const std::ptrdiff_t inputs = in.blocks * kLanes, outputs = out.blocks * kLanes;
  const WinogradScratch buffers = divide_scratch(scratch, inputs, outputs);
  __builtin_memset(
      buffers.u, 0,
      static_cast<std::size_t>(kPoints * weights_plane(inputs, outputs)) * sizeof(float));
  for_chunks(in, [&](std::ptrdiff_t first, std::ptrdiff_t end) {
    transform_input(in, x, first, end, buffers.v);
    transform_gradient(out, g, first, end, buffers.m);
    for (std::ptrdiff_t p = 0; p < kPoints; ++p) {
      outer_product(end - first, inputs, outputs, buffers.v + p * tiles_plane(inputs),
                    buffers.m + p * tiles_plane(outputs),
                    buffers.u + p * weights_plane(inputs, outputs));
    }
  });
  transform_weights_back(inputs, outputs, buffers.u, dw);
  if (dbias != nullptr) channel_sums(out, g, dbias);
}

}  // namespace
}  // namespace detol::inline trainer::cpu
