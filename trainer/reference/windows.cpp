#include "trainer/reference/windows.h"

#include <cmath>

namespace detol::reference {
namespace {

template <typename Real, typename Visit>
void for_output(const Turn<Real>& t, Visit visit) {
  const Shape& out = t.output.shape;
  for (std::int64_t n = 0; n < t.images; ++n) {
    for (std::int64_t c = 0; c < out.channels; ++c) {
      for (std::int64_t y = 0; y < out.height; ++y) {
        for (std::int64_t x = 0; x < out.width; ++x) visit(n, c, y, x);
      }
    }
  }
}

struct Tap {
  std::int64_t y, x;   // in the input
  std::int64_t index;  // in the window, row-major
};

// The taps of the window of output (y, x) that lie inside the image.
template <typename Visit>
void for_taps(const Layer& layer, const Shape& in, std::int64_t y, std::int64_t x, Visit visit) {
  const std::int64_t padding = (layer.kernel - 1) * layer.dilation / 2;
  for (std::int64_t i = 0; i < layer.kernel; ++i) {
    const std::int64_t row = y * layer.stride + i * layer.dilation - padding;
    if (row < 0 || row >= in.height) continue;
    for (std::int64_t j = 0; j < layer.kernel; ++j) {
      const std::int64_t column = x * layer.stride + j * layer.dilation - padding;
      if (column < 0 || column >= in.width) continue;
      visit(Tap{row, column, i * layer.kernel + j});
    }
  }
}

// Visits (input channel, tap, weight index) of everything that output (c, y, x) sums.
template <typename Real, typename Visit>
void for_products(const Turn<Real>& t, std::int64_t c, std::int64_t y, std::int64_t x,
                  Visit visit) {
  const Layer& layer = t.layer;
  const Shape& in = t.inputs[0].shape;
  const std::int64_t group_inputs = in.channels / layer.groups;
  const std::int64_t first = c / (layer.channels / layer.groups) * group_inputs;
  for (std::int64_t i = 0; i < group_inputs; ++i) {
    const std::int64_t row = (c * group_inputs + i) * layer.kernel * layer.kernel;
    for_taps(layer, in, y, x, [&](const Tap& tap) {
      visit(first + i, tap, static_cast<std::size_t>(row + tap.index));
    });
  }
}

template <typename Real>
Tap largest_of(const Turn<Real>& t, std::int64_t n, std::int64_t c, std::int64_t y,
               std::int64_t x) {
  const View<Real>& in = t.inputs[0];
  Tap best{-1, -1, 0};
  for_taps(t.layer, in.shape, y, x, [&](const Tap& tap) {
    if (best.y < 0 || in.at(n, c, tap.y, tap.x) > in.at(n, c, best.y, best.x)) best = tap;
  });
  return best;
}

template <typename Real>
Real taps_inside(const Turn<Real>& t, std::int64_t y, std::int64_t x) {
  Real count = 0;
  for_taps(t.layer, t.inputs[0].shape, y, x, [&](const Tap&) { count += 1; });
  return count;
}

}  // namespace

template <typename Real>
void conv_forward(const Turn<Real>& t) {
  for_output(t, [&](std::int64_t n, std::int64_t c, std::int64_t y, std::int64_t x) {
    Real sum = t.layer.bias ? t.parameters[1][static_cast<std::size_t>(c)] : Real{0};
    for_products(t, c, y, x, [&](std::int64_t i, const Tap& tap, std::size_t w) {
      sum += t.parameters[0][w] * t.inputs[0].at(n, i, tap.y, tap.x);
    });
    t.output.at(n, c, y, x) = sum;
  });
}

template <typename Real>
void conv_backward(const Turn<Real>& t) {
  for_output(t, [&](std::int64_t n, std::int64_t c, std::int64_t y, std::int64_t x) {
    const Real g = t.output_gradient.at(n, c, y, x);
    if (t.layer.bias) t.parameter_gradients[1][static_cast<std::size_t>(c)] += g;
    for_products(t, c, y, x, [&](std::int64_t i, const Tap& tap, std::size_t w) {
      t.parameter_gradients[0][w] += g * t.inputs[0].at(n, i, tap.y, tap.x);
      t.input_gradients[0].at(n, i, tap.y, tap.x) += g * t.parameters[0][w];
    });
  });
}

template <typename Real>
void max_pool_forward(const Turn<Real>& t) {
  for_output(t, [&](std::int64_t n, std::int64_t c, std::int64_t y, std::int64_t x) {
    const Tap best = largest_of(t, n, c, y, x);
    t.output.at(n, c, y, x) = t.inputs[0].at(n, c, best.y, best.x);
  });
}

template <typename Real>
void max_pool_backward(const Turn<Real>& t) {
  for_output(t, [&](std::int64_t n, std::int64_t c, std::int64_t y, std::int64_t x) {
    const Tap best = largest_of(t, n, c, y, x);
    t.input_gradients[0].at(n, c, best.y, best.x) += t.output_gradient.at(n, c, y, x);
  });
}

template <typename Real>
void avg_pool_forward(const Turn<Real>& t) {
  for_output(t, [&](std::int64_t n, std::int64_t c, std::int64_t y, std::int64_t x) {
    Real sum = 0;
    for_taps(t.layer, t.inputs[0].shape, y, x,
             [&](const Tap& tap) { sum += t.inputs[0].at(n, c, tap.y, tap.x); });
    t.output.at(n, c, y, x) = sum / taps_inside(t, y, x);
  });
}

template <typename Real>
void avg_pool_backward(const Turn<Real>& t) {
  for_output(t, [&](std::int64_t n, std::int64_t c, std::int64_t y, std::int64_t x) {
    const Real share = t.output_gradient.at(n, c, y, x) / taps_inside(t, y, x);
    for_taps(t.layer, t.inputs[0].shape, y, x,
             [&](const Tap& tap) { t.input_gradients[0].at(n, c, tap.y, tap.x) += share; });
  });
}

template <typename Real>
void global_pool_forward(const Turn<Real>& t) {
  const Shape& in = t.inputs[0].shape;
  const auto pixels = static_cast<std::size_t>(in.height * in.width);
  for (std::size_t i = 0; i < t.output.values.size(); ++i) {
    Real sum = 0;
    for (Real value : t.inputs[0].values.subspan(i * pixels, pixels)) sum += value;
    t.output.values[i] = sum / static_cast<Real>(pixels);
  }
}

template <typename Real>
void global_pool_backward(const Turn<Real>& t) {
  const Shape& in = t.inputs[0].shape;
  const auto pixels = static_cast<std::size_t>(in.height * in.width);
  for (std::size_t i = 0; i < t.output.values.size(); ++i) {
    const Real share = t.output_gradient.values[i] / static_cast<Real>(pixels);
    for (Real& gradient : t.input_gradients[0].values.subspan(i * pixels, pixels)) {
      gradient += share;
    }
  }
}

#define DETOL_INSTANTIATE(layer)           \
  template void layer(const Turn<float>&); \
  template void layer(const Turn<double>&);
DETOL_INSTANTIATE(conv_forward)
DETOL_INSTANTIATE(conv_backward)
DETOL_INSTANTIATE(max_pool_forward)
DETOL_INSTANTIATE(max_pool_backward)
DETOL_INSTANTIATE(avg_pool_forward)
DETOL_INSTANTIATE(avg_pool_backward)
DETOL_INSTANTIATE(global_pool_forward)
DETOL_INSTANTIATE(global_pool_backward)
#undef DETOL_INSTANTIATE

}  // namespace detol::reference
