#pragma once

// Depthwise convolution. Each direction reads one plane (a block of channels of one image) at a
// time, from a copy with zeros around it, so that no tap needs a bounds check. Its sums stay in
// registers: of neighbouring outputs or, for the weights' gradient, of neighbouring taps.

#include "trainer/backends/cpu/kernels.h"
#include "trainer/backends/cpu/kernels_element.h"
#include "trainer/backends/cpu/kernels_window.h"
#include "trainer/backends/cpu/lanes.h"

namespace detol::inline trainer::cpu {
namespace {

// Returns the offset of the weights of plane `i` = image * blocks + block.
std::ptrdiff_t weights_at(const Window& w, std::ptrdiff_t i) {
  return i % w.in.blocks * w.taps() * kLanes;
}

// Margin describes a plane with zeros around it.
struct Margin {
  std::ptrdiff_t height, width;  // of the plane
  std::ptrdiff_t above, beside;  // zeros on either side
  std::ptrdiff_t row() const { return (width + 2 * beside) * kLanes; }
};

void pad_plane(const Margin& m, const float* plane, float* padded) {
  const std::ptrdiff_t rows = m.height + 2 * m.above;
  __builtin_memset(padded, 0, static_cast<std::size_t>(rows * m.row()) * sizeof(float));
  for (std::ptrdiff_t y = 0; y < m.height; ++y) {
    __builtin_memcpy(padded + (y + m.above) * m.row() + m.beside * kLanes,
                     plane + y * m.width * kLanes,
                     static_cast<std::size_t>(m.width * kLanes) * sizeof(float));
  }
}

// Reach: the taps of a sum along one side of the window, and the places of the values they weigh.
struct Reach {
  std::ptrdiff_t tap = 0, tap_step = 1, count = 0;
  std::ptrdiff_t at = 0, at_step = 0;  // rows or columns of the padded plane
};

// Sums describes weighted sums over a window of a padded plane.
struct Sums {
  Reach rows, columns;
  std::ptrdiff_t row;            // floats of the padded plane's rows
  std::ptrdiff_t width;          // taps in a row of the window
  std::ptrdiff_t from_step = 1;  // columns of the plane from one sum to the next
  std::ptrdiff_t to_step = 1;    // likewise, of the output
  Lanes start = {};
};

template <int kCount>
void neighbours(const Sums& s, const float* from, const float* weights, float* to) {
  Lanes sum[kCount];
  for (int t = 0; t < kCount; ++t) sum[t] = s.start;
  const std::ptrdiff_t step = s.from_step * kLanes;
  for (std::ptrdiff_t a = 0; a < s.rows.count; ++a) {
    const float* in = from + (s.rows.at + a * s.rows.at_step) * s.row + s.columns.at * kLanes;
    const float* tap =
        weights + ((s.rows.tap + a * s.rows.tap_step) * s.width + s.columns.tap) * kLanes;
    for (std::ptrdiff_t b = 0; b < s.columns.count; ++b) {
      const Lanes weight = load(tap);
      for (int t = 0; t < kCount; ++t) sum[t] = multiply_add(load(in + t * step), weight, sum[t]);
      in += s.columns.at_step * kLanes;
      tap += s.columns.tap_step * kLanes;
    }
  }
  for (int t = 0; t < kCount; ++t) store(to + t * s.to_step * kLanes, sum[t]);
}

void row_of_sums(const Sums& s, const float* from, const float* weights, float* to,
                 std::ptrdiff_t count) {
  const auto take = [&](std::ptrdiff_t some, auto run) {
    for (; count >= some; count -= some) {
      run(s, from, weights, to);
      from += some * s.from_step * kLanes;
      to += some * s.to_step * kLanes;
    }
  };
  take(8, neighbours<8>);
  take(4, neighbours<4>);
  take(2, neighbours<2>);
  take(1, neighbours<1>);
}

Margin margin_of(const Window& w) {
  return {w.in.height, w.in.width, w.above, w.beside};
}

void depthwise(const Window& w, const float* x, const float* weights, const float* bias, float* y,
               float* scratch) {
  const Margin margin = margin_of(w);
  Sums sums{.rows = {.count = w.height, .at_step = w.dilation},
            .columns = {.count = w.width, .at_step = w.dilation},
            .row = margin.row(),
            .width = w.width,
            .from_step = w.stride};
  for (std::ptrdiff_t i = 0; i < w.out.images * w.out.blocks; ++i) {
    pad_plane(margin, x + i * w.in.positions() * kLanes, scratch);
    if (bias != nullptr) sums.start = load(bias + i % w.in.blocks * kLanes);
    for (std::ptrdiff_t row = 0; row < w.out.height; ++row) {
      row_of_sums(sums, scratch + row * w.stride * sums.row, weights + weights_at(w, i), y,
                  w.out.width);
      y += w.out.width * kLanes;
    }
  }
}

// Returns the taps that reach inputs first, first + stride, ...: those whose distance to the inputs
// is a whole number of strides. `size`: taps of that side; `before`: the padding.
Reach reach_of(const Window& w, std::ptrdiff_t first, std::ptrdiff_t size, std::ptrdiff_t before,
               std::ptrdiff_t margin) {
  Reach reach;
  for (std::ptrdiff_t tap = size - 1; tap >= 0; --tap) {
    const std::ptrdiff_t distance = first + before - tap * w.dilation;
    if (distance % w.stride != 0) continue;
    const std::ptrdiff_t at = margin + distance / w.stride;
    reach.tap_step = reach.tap - tap;
    reach.at_step = reach.at - at;
    reach.tap = tap;
    reach.at = at;
    ++reach.count;
  }
  return reach;
}

// dx[y] = sum over taps a of g[(y + above - a dilation) / stride] w[a], where the index is whole.
void depthwise_backward(const Window& w, const float* g, const float* weights, float* dx,
                        float* scratch) {
  const Margin margin{w.out.height, w.out.width, w.gradient_margin(w.height),
                      w.gradient_margin(w.width)};
  for (std::ptrdiff_t i = 0; i < w.in.images * w.in.blocks; ++i) {
    pad_plane(margin, g + i * w.out.positions() * kLanes, scratch);
    float* plane = dx + i * w.in.positions() * kLanes;
    for (std::ptrdiff_t first = 0; first < w.stride * w.stride; ++first) {
      const std::ptrdiff_t top = first / w.stride, left = first % w.stride;
      if (left >= w.in.width) continue;
      const Sums sums{.rows = reach_of(w, top, w.height, w.above, margin.above),
                      .columns = reach_of(w, left, w.width, w.beside, margin.beside),
                      .row = margin.row(),
                      .width = w.width,
                      .to_step = w.stride};
      const float* from = scratch;
      for (std::ptrdiff_t y = top; y < w.in.height; y += w.stride, from += margin.row()) {
        row_of_sums(sums, from, weights + weights_at(w, i),
                    plane + (y * w.in.width + left) * kLanes,
                    (w.in.width - left + w.stride - 1) / w.stride);
      }
    }
  }
}

// Adds one plane's part of the gradient of kCount neighbouring taps in a row of the window;
// `padded` is the input under the first tap.
template <int kCount>
__attribute__((noinline)) void row_of_taps(const Window& w, const float* padded, const float* g,
                                           float* dw) {
  const std::ptrdiff_t row = margin_of(w).row() * w.stride;
  const std::ptrdiff_t step = w.stride * kLanes, tap = w.dilation * kLanes;
  Lanes sum[kCount] = {};
  for (std::ptrdiff_t y = 0; y < w.out.height; ++y, padded += row) {
    const float* from = padded;
    for (std::ptrdiff_t x = 0; x < w.out.width; ++x, g += kLanes, from += step) {
      const Lanes gradient = load(g);
      for (int t = 0; t < kCount; ++t)
        sum[t] = multiply_add(load(from + t * tap), gradient, sum[t]);
    }
  }
  for (int t = 0; t < kCount; ++t) accumulate(dw + t * kLanes, sum[t]);
}

// Computes the gradient of all the window's taps. Several sums at once hide the latency of
// additions.
void plane_of_taps(const Window& w, const float* padded, const float* g, float* dw) {
  const std::ptrdiff_t row = margin_of(w).row();
  for (std::ptrdiff_t a = 0; a < w.height; ++a) {
    const float* from = padded + a * w.dilation * row;
    std::ptrdiff_t b = 0;
    const auto take = [&](std::ptrdiff_t count, auto run) {
      for (; b + count <= w.width; b += count)
        run(w, from + b * w.dilation * kLanes, g, dw + (a * w.width + b) * kLanes);
    };
    take(7, row_of_taps<7>);
    take(5, row_of_taps<5>);
    take(3, row_of_taps<3>);
    take(1, row_of_taps<1>);
  }
}

void depthwise_weights(const Window& w, const float* x, const float* g, float* dw, float* dbias,
                       float* scratch) {
  const std::ptrdiff_t taps = w.taps();
  __builtin_memset(dw, 0, static_cast<std::size_t>(w.in.blocks * taps * kLanes) * sizeof(float));
  for (std::ptrdiff_t i = 0; i < w.in.images * w.in.blocks; ++i) {
    pad_plane(margin_of(w), x + i * w.in.positions() * kLanes, scratch);
    plane_of_taps(w, scratch, g + i * w.out.positions() * kLanes, dw + weights_at(w, i));
  }
  if (dbias != nullptr) channel_sums(w.out, g, dbias);
}

}  // namespace
}  // namespace detol::inline trainer::cpu
