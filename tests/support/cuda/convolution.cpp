#include "tests/support/cuda/convolution.h"

#include <bit>
#include <cmath>
#include <cstddef>
#include <vector>

namespace detol::emulated {
namespace {

// The value with its last bits rounded away. REQUIRES: not NaN.
std::uint32_t rounded_bits(float value, int bits) {
  const auto is = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t half = (1U << (bits - 1)) - 1, odd = is >> bits & 1;
  return (is + half + odd) >> bits << bits;
}

template <typename Real>
std::vector<Real> read(const Convolution& c, const void* from, std::int64_t count) {
  std::vector<Real> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float value = c.type == Number::kFloat
                            ? static_cast<const float*>(from)[i]
                            : from_bfloat16(static_cast<const std::uint16_t*>(from)[i]);
    values[i] = static_cast<Real>(c.rounds_inputs ? to_tf32(value) : value);
  }
  return values;
}

template <typename Real>
void write(const Convolution& c, const std::vector<Real>& values, void* to) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto value = static_cast<float>(values[i]);
    if (c.type == Number::kFloat)
      static_cast<float*>(to)[i] = value;
    else
      static_cast<std::uint16_t*>(to)[i] = to_bfloat16(value);
  }
}

// The weights of one tap as inputs x outputs of each group: then the innermost loop of the forward
// pass runs over outputs, which lie side by side. Back: as they lie outside.
template <typename Real>
std::vector<Real> turned(const Convolution& c, const std::vector<Real>& w) {
  const std::int64_t taps = c.kernel_height * c.kernel_width, inputs = c.inputs / c.groups;
  const std::int64_t outputs = c.outputs / c.groups;
  std::vector<Real> out(w.size());
  const Real* from = w.data();
  for (std::int64_t k = 0; k < c.outputs; ++k) {
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      for (std::int64_t i = 0; i < inputs; ++i) {
        const std::int64_t row = (tap * c.groups + k / outputs) * inputs + i;
        out[static_cast<std::size_t>(row * outputs + k % outputs)] = *from++;
      }
    }
  }
  return out;
}

// Calls action(x offset, tap, y offset) for every tap of every output that lies inside the image.
template <typename Action>
void for_taps(const Convolution& c, const Action& action) {
  std::int64_t y = 0;
  for (std::int64_t n = 0; n < c.images; ++n) {
    for (std::int64_t p = 0; p < c.out_height; ++p) {
      for (std::int64_t q = 0; q < c.out_width; ++q, y += c.outputs) {
        for (std::int64_t r = 0; r < c.kernel_height; ++r) {
          const std::int64_t h = p * c.stride_down + r * c.dilation_down - c.above;
          if (h < 0 || h >= c.height) continue;
          for (std::int64_t s = 0; s < c.kernel_width; ++s) {
            const std::int64_t at = q * c.stride_right + s * c.dilation_right - c.beside;
            if (at < 0 || at >= c.width) continue;
            action(((n * c.height + h) * c.width + at) * c.inputs, r * c.kernel_width + s, y);
          }
        }
      }
    }
  }
}

template <typename Real>
std::vector<Real> forward(const Convolution& c, const std::vector<Real>& x,
                          const std::vector<Real>& w) {
  const std::vector<Real> by_tap = turned(c, w);
  const std::int64_t inputs = c.inputs / c.groups, outputs = c.outputs / c.groups;
  std::vector<Real> y(static_cast<std::size_t>(c.y_elements()));
  for_taps(c, [&](std::int64_t x_at, std::int64_t tap, std::int64_t y_at) {
    const Real* row = by_tap.data() + tap * c.inputs * outputs;
    for (std::int64_t group = 0; group < c.groups; ++group) {
      const Real* from = x.data() + x_at + group * inputs;
      Real* to = y.data() + y_at + group * outputs;
      for (std::int64_t i = 0; i < inputs; ++i, row += outputs)
        for (std::int64_t k = 0; k < outputs; ++k) to[k] += from[i] * row[k];
    }
  });
  return y;
}

// Both gradients go tap by tap through the same triples of x, w and y.
template <typename Real>
std::vector<Real> data_gradient(const Convolution& c, const std::vector<Real>& w,
                                const std::vector<Real>& y) {
  const std::int64_t inputs = c.inputs / c.groups, outputs = c.outputs / c.groups;
  const std::int64_t taps = c.kernel_height * c.kernel_width;
  std::vector<Real> x(static_cast<std::size_t>(c.x_elements()));
  for_taps(c, [&](std::int64_t x_at, std::int64_t tap, std::int64_t y_at) {
    for (std::int64_t k = 0; k < c.outputs; ++k) {
      const Real g = y[static_cast<std::size_t>(y_at + k)];
      const Real* row = w.data() + (k * taps + tap) * inputs;
      Real* to = x.data() + x_at + k / outputs * inputs;
      for (std::int64_t i = 0; i < inputs; ++i) to[i] += g * row[i];
    }
  });
  return x;
}

template <typename Real>
std::vector<Real> filter_gradient(const Convolution& c, const std::vector<Real>& x,
                                  const std::vector<Real>& y) {
  const std::int64_t inputs = c.inputs / c.groups, outputs = c.outputs / c.groups;
  const std::int64_t taps = c.kernel_height * c.kernel_width;
  std::vector<Real> w(static_cast<std::size_t>(c.w_elements()));
  for_taps(c, [&](std::int64_t x_at, std::int64_t tap, std::int64_t y_at) {
    for (std::int64_t k = 0; k < c.outputs; ++k) {
      const Real g = y[static_cast<std::size_t>(y_at + k)];
      const Real* from = x.data() + x_at + k / outputs * inputs;
      Real* to = w.data() + (k * taps + tap) * inputs;
      for (std::int64_t i = 0; i < inputs; ++i) to[i] += g * from[i];
    }
  });
  return w;
}

template <typename Real>
void convolve_in(const Convolution& c, void* x, void* w, void* y) {
  const auto read_x = [&] { return read<Real>(c, x, c.x_elements()); };
  const auto read_w = [&] { return read<Real>(c, w, c.w_elements()); };
  const auto read_y = [&] { return read<Real>(c, y, c.y_elements()); };
  switch (c.direction) {
    case Direction::kForward:
      return write(c, forward(c, read_x(), read_w()), y);
    case Direction::kData:
      return write(c, data_gradient(c, read_w(), read_y()), x);
    case Direction::kFilter:
      return write(c, filter_gradient(c, read_x(), read_y()), w);
  }
}

}  // namespace

float to_tf32(float value) {
  return std::isfinite(value) ? std::bit_cast<float>(rounded_bits(value, 13)) : value;
}

float from_bfloat16(std::uint16_t bits) {
  return std::bit_cast<float>(std::uint32_t{bits} << 16);
}

std::uint16_t to_bfloat16(float value) {
  if (std::isnan(value)) return 0x7fff;
  return static_cast<std::uint16_t>(rounded_bits(value, 16) >> 16);
}

void convolve(const Convolution& convolution, void* x, void* w, void* y) {
  convolution.sums_in_single ? convolve_in<float>(convolution, x, w, y)
                             : convolve_in<double>(convolution, x, w, y);
}

}  // namespace detol::emulated
