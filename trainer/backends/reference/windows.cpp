#include "trainer/backends/reference/windows.h"

#include <cmath>

namespace detol::inline trainer::reference {
namespace {

template <typename Real, typename Visit>
void for_output(const LayerContext<Real>& t, Visit visit) {
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

// Calls visit(tap) for the taps of the window of output (y, x) that lie inside the image.
template <typename Visit>
void for_taps(const Layer& layer, const Shape& in, std::int64_t y, std::int64_t x, Visit visit) {
  for (std::int64_t i = 0; i < height_of(layer); ++i) {
    const std::int64_t row = y * layer.stride + i * layer.dilation - padding_above(layer);
    if (row < 0 || row >= in.height) continue;
    for (std::int64_t j = 0; j < layer.kernel; ++j) {
      const std::int64_t column = x * layer.stride + j * layer.dilation - padding_beside(layer);
      if (column < 0 || column >= in.width) continue;
      visit(Tap{row, column, i * layer.kernel + j});
    }
  }
}

// Row: the outputs of one row of one image that one weight contributes to; their inputs are
// `stride` elements apart.
struct Row {
  std::size_t weight;
  std::size_t output, input;  // offsets of the first output and its input
  std::size_t count, stride;
};

// Visits all products of a convolution, row by row, so that the caller's inner loop runs over
// neighbours.
template <typename Real, typename Visit>
void for_rows(const LayerContext<Real>& t, Visit visit) {
  const Layer& layer = *t.layer;
  const Shape &in = t.inputs[0].shape, &out = t.output.shape;
  const std::int64_t group_inputs = in.channels / layer.groups;
  const std::int64_t group_outputs = layer.channels / layer.groups;
  const std::int64_t height = height_of(layer), taps = height * layer.kernel;
  const std::int64_t above = padding_above(layer), beside = padding_beside(layer);
  for (std::int64_t n = 0; n < t.images; ++n) {
    for (std::int64_t w = 0; w < layer.channels * group_inputs * taps; ++w) {
      const std::int64_t j = w % layer.kernel, i = w / layer.kernel % height;
      const std::int64_t pair = w / taps;
      const std::int64_t o = pair / group_inputs;
      const std::int64_t c = o / group_outputs * group_inputs + pair % group_inputs;
      const std::int64_t shift = j * layer.dilation - beside;
      std::int64_t first = 0, end = out.width;
      while (first < end && first * layer.stride + shift < 0) ++first;
      while (end > first && (end - 1) * layer.stride + shift >= in.width) --end;
      for (std::int64_t y = 0; y < out.height && first < end; ++y) {
        const std::int64_t row = y * layer.stride + i * layer.dilation - above;
        if (row < 0 || row >= in.height) continue;
        const std::int64_t from = ((n * in.channels + c) * in.height + row) * in.width;
        const std::int64_t to = ((n * out.channels + o) * out.height + y) * out.width;
        visit(Row{static_cast<std::size_t>(w), static_cast<std::size_t>(to + first),
                  static_cast<std::size_t>(from + first * layer.stride + shift),
                  static_cast<std::size_t>(end - first), static_cast<std::size_t>(layer.stride)});
      }
    }
  }
}

template <typename Real>
Tap largest_of(const LayerContext<Real>& t, std::int64_t n, std::int64_t c, std::int64_t y,
               std::int64_t x) {
  const View<Real>& in = t.inputs[0];
  Tap best{-1, -1, 0};
  for_taps(*t.layer, in.shape, y, x, [&](const Tap& tap) {
    const Real value = in.at(n, c, tap.y, tap.x);
    const bool is_nan = std::isnan(value);  // stays, so that a diverged candidate is noticed
    if (best.y < 0 || is_nan || value > in.at(n, c, best.y, best.x)) best = tap;
  });
  return best;
}

template <typename Real>
Real taps_inside(const LayerContext<Real>& t, std::int64_t y, std::int64_t x) {
  Real count = 0;
  for_taps(*t.layer, t.inputs[0].shape, y, x, [&](const Tap&) { count += 1; });
  return count;
}

}  // namespace

template <typename Real>
void conv_forward(const LayerContext<Real>& t) {
  const auto channels = static_cast<std::size_t>(t.layer->channels);
  const auto positions = static_cast<std::size_t>(t.output.shape.height * t.output.shape.width);
  for (std::size_t i = 0; i < t.output.values.size(); ++i) {
    t.output.values[i] = t.layer->bias ? t.parameters[1][i / positions % channels] : Real{0};
  }
  for_rows(t, [&](const Row& row) {
    const Real weight = t.parameters[0][row.weight];
    Real* out = t.output.values.data() + row.output;
    const Real* in = t.inputs[0].values.data() + row.input;
    for (std::size_t x = 0; x < row.count; ++x) out[x] += weight * in[x * row.stride];
  });
}

template <typename Real>
void conv_backward(const LayerContext<Real>& t) {
  const auto channels = static_cast<std::size_t>(t.layer->channels);
  const auto positions = static_cast<std::size_t>(t.output.shape.height * t.output.shape.width);
  for (std::size_t i = 0; i < t.output_gradient.values.size() && t.layer->bias; ++i) {
    t.parameter_gradients[1][i / positions % channels] += t.output_gradient.values[i];
  }
  for_rows(t, [&](const Row& row) {
    const Real weight = t.parameters[0][row.weight];
    const Real* g = t.output_gradient.values.data() + row.output;
    const Real* in = t.inputs[0].values.data() + row.input;
    Real* in_gradient = t.input_gradients[0].values.data() + row.input;
    Real sum = 0;
    for (std::size_t x = 0; x < row.count; ++x) {
      sum += g[x] * in[x * row.stride];
      in_gradient[x * row.stride] += g[x] * weight;
    }
    t.parameter_gradients[0][row.weight] += sum;
  });
}

template <typename Real>
void max_pool_forward(const LayerContext<Real>& t) {
  for_output(t, [&](std::int64_t n, std::int64_t c, std::int64_t y, std::int64_t x) {
    const Tap best = largest_of(t, n, c, y, x);
    t.output.at(n, c, y, x) = t.inputs[0].at(n, c, best.y, best.x);
  });
}

template <typename Real>
void max_pool_backward(const LayerContext<Real>& t) {
  for_output(t, [&](std::int64_t n, std::int64_t c, std::int64_t y, std::int64_t x) {
    const Tap best = largest_of(t, n, c, y, x);
    t.input_gradients[0].at(n, c, best.y, best.x) += t.output_gradient.at(n, c, y, x);
  });
}

template <typename Real>
void avg_pool_forward(const LayerContext<Real>& t) {
  for_output(t, [&](std::int64_t n, std::int64_t c, std::int64_t y, std::int64_t x) {
    Real sum = 0;
    for_taps(*t.layer, t.inputs[0].shape, y, x,
             [&](const Tap& tap) { sum += t.inputs[0].at(n, c, tap.y, tap.x); });
    t.output.at(n, c, y, x) = sum / taps_inside(t, y, x);
  });
}

template <typename Real>
void avg_pool_backward(const LayerContext<Real>& t) {
  for_output(t, [&](std::int64_t n, std::int64_t c, std::int64_t y, std::int64_t x) {
    const Real share = t.output_gradient.at(n, c, y, x) / taps_inside(t, y, x);
    for_taps(*t.layer, t.inputs[0].shape, y, x,
             [&](const Tap& tap) { t.input_gradients[0].at(n, c, tap.y, tap.x) += share; });
  });
}

template <typename Real>
void global_pool_forward(const LayerContext<Real>& t) {
  const Shape& in = t.inputs[0].shape;
  const auto pixels = static_cast<std::size_t>(in.height * in.width);
  for (std::size_t i = 0; i < t.output.values.size(); ++i) {
    Real sum = 0;
    for (Real value : t.inputs[0].values.subspan(i * pixels, pixels)) sum += value;
    t.output.values[i] = sum / static_cast<Real>(pixels);
  }
}

template <typename Real>
void global_pool_backward(const LayerContext<Real>& t) {
  const Shape& in = t.inputs[0].shape;
  const auto pixels = static_cast<std::size_t>(in.height * in.width);
  for (std::size_t i = 0; i < t.output.values.size(); ++i) {
    const Real share = t.output_gradient.values[i] / static_cast<Real>(pixels);
    for (Real& gradient : t.input_gradients[0].values.subspan(i * pixels, pixels)) {
      gradient += share;
    }
  }
}

#define DETOL_INSTANTIATE(layer)                   \
  template void layer(const LayerContext<float>&); \
  template void layer(const LayerContext<double>&);
DETOL_INSTANTIATE(conv_forward)
DETOL_INSTANTIATE(conv_backward)
DETOL_INSTANTIATE(max_pool_forward)
DETOL_INSTANTIATE(max_pool_backward)
DETOL_INSTANTIATE(avg_pool_forward)
DETOL_INSTANTIATE(avg_pool_backward)
DETOL_INSTANTIATE(global_pool_forward)
DETOL_INSTANTIATE(global_pool_backward)
#undef DETOL_INSTANTIATE

}  // namespace detol::inline trainer::reference
