#pragma once

// Pooling: windows that slide over each channel separately.

#include "trainer/backends/cpu/kernels.h"
#include "trainer/backends/cpu/lanes.h"

namespace detol::inline trainer::cpu {
namespace {

// Calls visit(image * blocks + block, row, column) for every output.
template <typename Visit>
inline __attribute__((always_inline)) void for_outputs(const Window& w, Visit visit) {
  for (std::ptrdiff_t i = 0; i < w.out.images * w.out.blocks; ++i) {
    for (std::ptrdiff_t y = 0; y < w.out.height; ++y) {
      for (std::ptrdiff_t x = 0; x < w.out.width; ++x) visit(i, y, x);
    }
  }
}

// Calls visit(offset of a tap in floats, the tap's number) for the taps of a square window without
// dilation whose first tap is at `first`; unrolled.
template <int kSize, typename Visit>
inline __attribute__((always_inline)) void for_square(std::ptrdiff_t first, std::ptrdiff_t row,
                                                      Visit visit) {
#pragma GCC unroll 5
  for (int a = 0; a < kSize; ++a) {
#pragma GCC unroll 5
    for (int b = 0; b < kSize; ++b) visit(first + a * row + b * kLanes, a * kSize + b);
  }
}

// Calls visit(offset of the input under a tap in floats, the tap's number) for the taps of output
// (i, y, x) that lie inside the image.
template <typename Visit>
inline __attribute__((always_inline)) void for_taps(const Window& w, std::ptrdiff_t i,
                                                    std::ptrdiff_t y, std::ptrdiff_t x,
                                                    Visit visit) {
  const std::ptrdiff_t top = y * w.stride - w.above, left = x * w.stride - w.beside;
  const std::ptrdiff_t image = i * w.in.height * w.in.width;
  if (w.height == w.width && w.dilation == 1 && top >= 0 && left >= 0 &&
      top + w.height <= w.in.height && left + w.width <= w.in.width) {
    const std::ptrdiff_t first = (image + top * w.in.width + left) * kLanes;
    if (w.width == 5) return for_square<5>(first, w.in.width * kLanes, visit);
    if (w.width == 3) return for_square<3>(first, w.in.width * kLanes, visit);
    if (w.width == 2) return for_square<2>(first, w.in.width * kLanes, visit);
  }
  for (std::ptrdiff_t a = 0; a < w.height; ++a) {
    const std::ptrdiff_t row = top + a * w.dilation;
    if (row < 0 || row >= w.in.height) continue;
    const std::ptrdiff_t start = image + row * w.in.width;
    for (std::ptrdiff_t b = 0; b < w.width; ++b) {
      const std::ptrdiff_t column = left + b * w.dilation;
      if (column < 0 || column >= w.in.width) continue;
      visit((start + column) * kLanes, a * w.width + b);
    }
  }
}

std::ptrdiff_t output_at(const Window& w, std::ptrdiff_t i, std::ptrdiff_t y, std::ptrdiff_t x) {
  return ((i * w.out.height + y) * w.out.width + x) * kLanes;
}

void clear(const Extent& e, float* values) {
  const std::ptrdiff_t floats = e.images * e.blocks * e.positions() * kLanes;
  __builtin_memset(values, 0, static_cast<std::size_t>(floats) * sizeof(float));
}

void accumulate(float* to, Lanes value) {
  store(to, load(to) + value);
}

// Best: the largest value so far and its tap. Of equal values the first counts; NaN stays.
struct Best {
  Lanes value;
  Marks tap;
  void take(Lanes other, Marks other_tap) {
    const Marks larger = (other > value) | (other != other);
    value = larger ? other : value;
    tap = larger ? other_tap : tap;
  }
};

constexpr Marks kNoTap = Marks{} - 1;

// Windows of 3 x 3 with stride 1 overlap: down a column of outputs, the largest of three neighbours
// in a row is used by three outputs.
bool is_dense_3x3(const Window& w) {
  return w.height == 3 && w.width == 3 && w.stride == 1 && w.dilation == 1 && w.above == 1 &&
         w.beside == 1;
}

void max_pool_column(const Window& w, float floor, const float* x, std::ptrdiff_t column, float* y,
                     std::int32_t* best) {
  const std::ptrdiff_t row = w.in.width * kLanes;
  const Best none{all(-__builtin_inff()), Marks{}};
  Best above = none, here = none;
  for (std::ptrdiff_t next = 0; next <= w.in.height; ++next, x += row) {
    Best below = none;
    if (next < w.in.height) {
      if (column > 0) below.value = load(x - kLanes);
      below.take(load(x), Marks{} + 1);
      if (column + 1 < w.in.width) below.take(load(x + kLanes), Marks{} + 2);
    }
    if (next > 0) {
      Best result{all(floor), kNoTap}, window = above;
      window.take(here.value, here.tap + 3);
      window.take(below.value, below.tap + 6);
      result.take(window.value, window.tap);
      store(y, result.value);
      *reinterpret_cast<Marks*>(best) = result.tap;
      y += row;
      best += row;
    }
    above = here;
    here = below;
  }
}

void max_pool(const Window& w, float floor, const float* x, float* y, std::int32_t* best) {
  if (is_dense_3x3(w)) {
    for (std::ptrdiff_t i = 0; i < w.out.images * w.out.blocks; ++i) {
      for (std::ptrdiff_t column = 0; column < w.out.width; ++column) {
        const std::ptrdiff_t at = output_at(w, i, 0, column);
        max_pool_column(w, floor, x + at, column, y + at, best + at);
      }
    }
    return;
  }
  for_outputs(w, [&](std::ptrdiff_t i, std::ptrdiff_t row, std::ptrdiff_t column) {
    Best largest{all(floor), kNoTap};
    for_taps(w, i, row, column, [&](std::ptrdiff_t from, std::ptrdiff_t tap) {
      largest.take(load(x + from), Marks{} + static_cast<std::int32_t>(tap));
    });
    const std::ptrdiff_t at = output_at(w, i, row, column);
    store(y + at, largest.value);
    *reinterpret_cast<Marks*>(best + at) = largest.tap;
  });
}

// Adds the gradients of one column of outputs to three columns of inputs; sums of three rows are in
// registers.
void max_pool_column_backward(const Window& w, const float* g, const std::int32_t* best,
                              std::ptrdiff_t column, float* dx) {
  const std::ptrdiff_t row = w.in.width * kLanes;
  const auto add_row = [&](float* to, const Lanes* sums) {
    if (column > 0) accumulate(to - kLanes, sums[0]);
    accumulate(to, sums[1]);
    if (column + 1 < w.in.width) accumulate(to + kLanes, sums[2]);
  };
  Lanes above[3] = {}, here[3] = {};
  for (std::ptrdiff_t y = 0; y < w.out.height; ++y, g += row, best += row) {
    const Lanes gradient = load(g);
    const Marks tap_of = *reinterpret_cast<const Marks*>(best);
    Lanes below[3];
    const auto part = [&](std::int32_t tap) { return tap_of == tap ? gradient : Lanes{}; };
#pragma GCC unroll 3
    for (int b = 0; b < 3; ++b) {
      above[b] += part(b);
      here[b] += part(b + 3);
      below[b] = part(b + 6);
    }
    if (y > 0) add_row(dx + (y - 1) * row, above);
#pragma GCC unroll 3
    for (int b = 0; b < 3; ++b) {
      above[b] = here[b];
      here[b] = below[b];
    }
  }
  add_row(dx + (w.out.height - 1) * row, above);
}

void max_pool_backward(const Window& w, const float* g, const std::int32_t* best, float* dx) {
  clear(w.in, dx);
  if (is_dense_3x3(w)) {
    for (std::ptrdiff_t i = 0; i < w.out.images * w.out.blocks; ++i) {
      for (std::ptrdiff_t column = 0; column < w.out.width; ++column) {
        const std::ptrdiff_t at = output_at(w, i, 0, column);
        max_pool_column_backward(w, g + at, best + at, column, dx + at);
      }
    }
    return;
  }
  for_outputs(w, [&](std::ptrdiff_t i, std::ptrdiff_t row, std::ptrdiff_t column) {
    const std::ptrdiff_t at = output_at(w, i, row, column);
    const Lanes gradient = load(g + at);
    const Marks tap_of = *reinterpret_cast<const Marks*>(best + at);
    for_taps(w, i, row, column, [&](std::ptrdiff_t to, std::ptrdiff_t tap) {
      accumulate(dx + to, tap_of == static_cast<std::int32_t>(tap) ? gradient : Lanes{});
    });
  });
}

// Counts how many of `taps` neighbours from `first` on lie inside an input of `size`.
std::ptrdiff_t inside(std::ptrdiff_t first, std::ptrdiff_t taps, std::ptrdiff_t size) {
  const std::ptrdiff_t end = first + taps;
  return (end < size ? end : size) - (first < 0 ? 0 : first);
}

// Returns 1 / the number of taps inside the image. REQUIRES: no dilation.
float share_of(const Window& w, std::ptrdiff_t row, std::ptrdiff_t column) {
  const std::ptrdiff_t rows = inside(row * w.stride - w.above, w.height, w.in.height);
  const std::ptrdiff_t columns = inside(column * w.stride - w.beside, w.width, w.in.width);
  return 1.0f / static_cast<float>(rows * columns);
}

void avg_pool(const Window& w, const float* x, float* y) {
  for_outputs(w, [&](std::ptrdiff_t i, std::ptrdiff_t row, std::ptrdiff_t column) {
    Lanes sum{};
    for_taps(w, i, row, column,
             [&](std::ptrdiff_t from, std::ptrdiff_t) { sum += load(x + from); });
    store(y + output_at(w, i, row, column), sum * share_of(w, row, column));
  });
}

void avg_pool_backward(const Window& w, const float* g, float* dx) {
  clear(w.in, dx);
  for_outputs(w, [&](std::ptrdiff_t i, std::ptrdiff_t row, std::ptrdiff_t column) {
    const Lanes part = load(g + output_at(w, i, row, column)) * share_of(w, row, column);
    for_taps(w, i, row, column,
             [&](std::ptrdiff_t to, std::ptrdiff_t) { accumulate(dx + to, part); });
  });
}

}  // namespace
}  // namespace detol::inline trainer::cpu
