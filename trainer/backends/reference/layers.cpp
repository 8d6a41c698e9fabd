#include "trainer/backends/reference/layers.h"

#include <algorithm>
#include <cmath>

#include "encodings/network/activation_functions.h"
#include "trainer/backends/norm_constants.h"
#include "trainer/backends/reference/attention.h"
#include "trainer/backends/reference/windows.h"

namespace detol::inline trainer::reference {
namespace {

// --- dense, flatten -----------------------------------------------------------------------------

template <typename Real>
void dense_forward(const LayerContext<Real>& t) {
  const auto inputs = static_cast<std::size_t>(t.inputs[0].shape.elements());
  const auto outputs = static_cast<std::size_t>(t.layer->channels);
  for (std::size_t n = 0; n < static_cast<std::size_t>(t.images); ++n) {
    for (std::size_t o = 0; o < outputs; ++o) {
      Real sum = t.layer->bias ? t.parameters[1][o] : Real{0};
      for (std::size_t i = 0; i < inputs; ++i) {
        sum += t.parameters[0][o * inputs + i] * t.inputs[0].values[n * inputs + i];
      }
      t.output.values[n * outputs + o] = sum;
    }
  }
}

template <typename Real>
void dense_backward(const LayerContext<Real>& t) {
  const auto inputs = static_cast<std::size_t>(t.inputs[0].shape.elements());
  const auto outputs = static_cast<std::size_t>(t.layer->channels);
  for (std::size_t n = 0; n < static_cast<std::size_t>(t.images); ++n) {
    for (std::size_t o = 0; o < outputs; ++o) {
      const Real g = t.output_gradient.values[n * outputs + o];
      if (t.layer->bias) t.parameter_gradients[1][o] += g;
      for (std::size_t i = 0; i < inputs; ++i) {
        const std::size_t w = o * inputs + i;
        t.parameter_gradients[0][w] += g * t.inputs[0].values[n * inputs + i];
        t.input_gradients[0].values[n * inputs + i] += g * t.parameters[0][w];
      }
    }
  }
}

template <typename Real>
void copy_forward(const LayerContext<Real>& t) {
  std::copy_n(t.inputs[0].values.begin(), t.output.values.size(), t.output.values.begin());
}

template <typename Real>
void copy_backward(const LayerContext<Real>& t) {
  for (std::size_t i = 0; i < t.output_gradient.values.size(); ++i) {
    t.input_gradients[0].values[i] += t.output_gradient.values[i];
  }
}

// --- batch norm (Ioffe and Szegedy, 2015, arXiv 1502.03167) --------------------------------------

template <typename Real>
struct Moments {
  Real mean = 0;
  Real variance = 0;  // biased
  Real count = 0;
};

template <typename Real, typename Visit>
void for_channel(const LayerContext<Real>& t, std::int64_t channel, Visit visit) {
  const Shape& shape = t.output.shape;
  for (std::int64_t n = 0; n < t.images; ++n) {
    for (std::int64_t y = 0; y < shape.height; ++y) {
      for (std::int64_t x = 0; x < shape.width; ++x) visit(n, channel, y, x);
    }
  }
}

// Sums a value over all ranks of the norm's group.
template <typename Real>
Real summed(const LayerContext<Real>& t, Real value) {
  auto sum = static_cast<double>(value);
  t.norm_group->sum(std::span(&sum, 1));
  return static_cast<Real>(sum);
}

template <typename Real>
Moments<Real> moments_of(const LayerContext<Real>& t, std::int64_t channel) {
  Moments<Real> m;
  m.count = summed(t, static_cast<Real>(t.images * t.output.shape.height * t.output.shape.width));
  for_channel(t, channel, [&](auto... at) { m.mean += t.inputs[0].at(at...) / m.count; });
  m.mean = summed(t, m.mean);
  for_channel(t, channel, [&](auto... at) {
    const Real d = t.inputs[0].at(at...) - m.mean;
    m.variance += d * d / m.count;
  });
  m.variance = summed(t, m.variance);
  return m;
}

// Moves the running variance by the unbiased estimate; a single value has none and uses the biased.
template <typename Real>
void move_statistics(const LayerContext<Real>& t, std::size_t c, const Moments<Real>& m) {
  const Real unbiased = m.count > 1 ? m.variance * m.count / (m.count - 1) : m.variance;
  const Real rate = static_cast<Real>(kStatisticsMomentum);
  t.parameters[2][c] += rate * (m.mean - t.parameters[2][c]);
  t.parameters[3][c] += rate * (unbiased - t.parameters[3][c]);
}

template <typename Real>
void batch_norm_forward(const LayerContext<Real>& t) {
  for (std::int64_t channel = 0; channel < t.output.shape.channels; ++channel) {
    const auto c = static_cast<std::size_t>(channel);
    Moments<Real> m{t.parameters[2][c], t.parameters[3][c], 0};
    if (t.training) {
      m = moments_of(t, channel);
      move_statistics(t, c, m);
    }
    const Real scale = t.parameters[0][c] / std::sqrt(m.variance + static_cast<Real>(kNormEpsilon));
    for_channel(t, channel, [&](auto... at) {
      t.output.at(at...) = (t.inputs[0].at(at...) - m.mean) * scale + t.parameters[1][c];
    });
  }
}

template <typename Real>
void batch_norm_backward(const LayerContext<Real>& t) {
  for (std::int64_t channel = 0; channel < t.output.shape.channels; ++channel) {
    const auto c = static_cast<std::size_t>(channel);
    const Moments<Real> m = moments_of(t, channel);
    const Real inverse = 1 / std::sqrt(m.variance + static_cast<Real>(kNormEpsilon));
    Real gamma_gradient = 0, beta_gradient = 0;
    for_channel(t, channel, [&](auto... at) {
      const Real g = t.output_gradient.at(at...);
      beta_gradient += g;
      gamma_gradient += g * (t.inputs[0].at(at...) - m.mean) * inverse;
    });
    t.parameter_gradients[0][c] += gamma_gradient;
    t.parameter_gradients[1][c] += beta_gradient;
    gamma_gradient = summed(t, gamma_gradient);
    beta_gradient = summed(t, beta_gradient);
    for_channel(t, channel, [&](auto... at) {
      const Real normal = (t.inputs[0].at(at...) - m.mean) * inverse;
      const Real centred =
          t.output_gradient.at(at...) - (beta_gradient + normal * gamma_gradient) / m.count;
      t.input_gradients[0].at(at...) += t.parameters[0][c] * inverse * centred;
    });
  }
}

// --- layer norm (Ba, Kiros and Hinton, 2016, arXiv 1607.06450), each position by itself; without
// beta RMS norm (Zhang and Sennrich, 2019, arXiv 1910.07467), as if the mean were 0 -------------

template <typename Real, typename Visit>
void for_position(const LayerContext<Real>& t, Visit visit) {
  const Shape& shape = t.output.shape;
  for (std::int64_t n = 0; n < t.images; ++n) {
    for (std::int64_t y = 0; y < shape.height; ++y) {
      for (std::int64_t x = 0; x < shape.width; ++x) visit(n, y, x);
    }
  }
}

template <typename Real>
bool is_centred(const LayerContext<Real>& t) {
  return t.parameters.size() > 1;
}

template <typename Real>
Moments<Real> moments_at(const LayerContext<Real>& t, std::int64_t n, std::int64_t y,
                         std::int64_t x) {
  const View<Real>& in = t.inputs[0];
  Moments<Real> m;
  m.count = static_cast<Real>(in.shape.channels);
  if (is_centred(t))
    for (std::int64_t c = 0; c < in.shape.channels; ++c) m.mean += in.at(n, c, y, x) / m.count;
  for (std::int64_t c = 0; c < in.shape.channels; ++c) {
    const Real d = in.at(n, c, y, x) - m.mean;
    m.variance += d * d / m.count;
  }
  return m;
}

template <typename Real>
void layer_norm_forward(const LayerContext<Real>& t) {
  for_position(t, [&](std::int64_t n, std::int64_t y, std::int64_t x) {
    const Moments<Real> m = moments_at(t, n, y, x);
    const Real inverse = 1 / std::sqrt(m.variance + static_cast<Real>(kNormEpsilon));
    for (std::int64_t channel = 0; channel < t.output.shape.channels; ++channel) {
      const auto c = static_cast<std::size_t>(channel);
      const Real normal = (t.inputs[0].at(n, channel, y, x) - m.mean) * inverse;
      t.output.at(n, channel, y, x) =
          t.parameters[0][c] * normal + (is_centred(t) ? t.parameters[1][c] : 0);
    }
  });
}

template <typename Real>
void layer_norm_backward(const LayerContext<Real>& t) {
  for_position(t, [&](std::int64_t n, std::int64_t y, std::int64_t x) {
    const Moments<Real> m = moments_at(t, n, y, x);
    const Real inverse = 1 / std::sqrt(m.variance + static_cast<Real>(kNormEpsilon));
    Real mean_g = 0, mean_product = 0;
    const auto for_channels = [&](auto visit) {
      for (std::int64_t channel = 0; channel < t.output.shape.channels; ++channel) {
        const Real normal = (t.inputs[0].at(n, channel, y, x) - m.mean) * inverse;
        visit(channel, static_cast<std::size_t>(channel), normal);
      }
    };
    for_channels([&](std::int64_t channel, std::size_t c, Real normal) {
      const Real g = t.output_gradient.at(n, channel, y, x);
      t.parameter_gradients[0][c] += g * normal;
      if (is_centred(t)) t.parameter_gradients[1][c] += g;
      if (is_centred(t)) mean_g += g * t.parameters[0][c] / m.count;
      mean_product += g * t.parameters[0][c] * normal / m.count;
    });
    for_channels([&](std::int64_t channel, std::size_t c, Real normal) {
      const Real g = t.output_gradient.at(n, channel, y, x) * t.parameters[0][c];
      t.input_gradients[0].at(n, channel, y, x) += inverse * (g - mean_g - normal * mean_product);
    });
  });
}

// --- channels of several inputs, one after another ----------------------------------------------

// Calls visit(input, its first float, first float in the output, count) per image and input.
template <typename Real, typename Visit>
void for_slices(const LayerContext<Real>& t, Visit visit) {
  std::size_t at = 0;
  for (std::size_t n = 0; n < static_cast<std::size_t>(t.images); ++n) {
    for (std::size_t i = 0; i < t.inputs.size(); ++i) {
      const auto floats = static_cast<std::size_t>(t.inputs[i].shape.elements());
      visit(i, n * floats, at, floats);
      at += floats;
    }
  }
}

template <typename Real>
void concat_forward(const LayerContext<Real>& t) {
  for_slices(t, [&](std::size_t input, std::size_t from, std::size_t to, std::size_t count) {
    for (std::size_t k = 0; k < count; ++k) {
      t.output.values[to + k] = t.inputs[input].values[from + k];
    }
  });
}

template <typename Real>
void concat_backward(const LayerContext<Real>& t) {
  for_slices(t, [&](std::size_t input, std::size_t to, std::size_t from, std::size_t count) {
    for (std::size_t k = 0; k < count; ++k) {
      t.input_gradients[input].values[to + k] += t.output_gradient.values[from + k];
    }
  });
}

// --- element by element -------------------------------------------------------------------------

template <typename Real>
void activation_forward(const LayerContext<Real>& t) {
  for (std::size_t i = 0; i < t.output.values.size(); ++i)
    t.output.values[i] = value_of(t.layer->activation, t.inputs[0].values[i]);
}

template <typename Real>
void activation_backward(const LayerContext<Real>& t) {
  const Activation function = t.layer->activation;
  const auto& at = has_slope_of_value(function) ? t.output : t.inputs[0];
  for (std::size_t i = 0; i < t.output.values.size(); ++i)
    t.input_gradients[0].values[i] +=
        gradient_of(function, at.values[i], t.output_gradient.values[i]);
}

template <typename Real>
void quantize_forward(const LayerContext<Real>& t) {
  for (std::size_t i = 0; i < t.output.values.size(); ++i)
    t.output.values[i] = on_levels(*t.layer, static_cast<float>(t.inputs[0].values[i]));
}

template <typename Real>
void add_forward(const LayerContext<Real>& t) {
  for (std::size_t i = 0; i < t.output.values.size(); ++i) {
    Real sum = 0;
    for (const View<Real>& input : t.inputs) sum += input.values[i];
    t.output.values[i] = sum;
  }
}

template <typename Real>
void add_backward(const LayerContext<Real>& t) {
  for (const View<Real>& gradient : t.input_gradients) {
    for (std::size_t i = 0; i < gradient.values.size(); ++i) {
      gradient.values[i] += t.output_gradient.values[i];
    }
  }
}

// Returns the element of `scales` by which the element at (n, c, y, x) is scaled.
template <typename Real>
Real& scale_at(const LayerContext<Real>& t, const View<Real>& scales, std::int64_t n,
               std::int64_t c, std::int64_t y, std::int64_t x) {
  return scales.shape == t.output.shape ? scales.at(n, c, y, x) : scales.at(n, c, 0, 0);
}

template <typename Real>
void scale_forward(const LayerContext<Real>& t) {
  for (std::int64_t c = 0; c < t.output.shape.channels; ++c) {
    for_channel(t, c, [&](auto... at) {
      t.output.at(at...) = t.inputs[0].at(at...) * scale_at(t, t.inputs[1], at...);
    });
  }
}

template <typename Real>
void scale_backward(const LayerContext<Real>& t) {
  for (std::int64_t c = 0; c < t.output.shape.channels; ++c) {
    for_channel(t, c, [&](auto... at) {
      const Real g = t.output_gradient.at(at...);
      t.input_gradients[0].at(at...) += g * scale_at(t, t.inputs[1], at...);
      scale_at(t, t.input_gradients[1], at...) += g * t.inputs[0].at(at...);
    });
  }
}

template <typename Real>
std::vector<float> mask_of(const LayerContext<Real>& t) {
  std::vector<float> mask(t.output.values.size());
  draw_dropout_mask(t.dropout, t.layer->rate, t.output.shape, mask);
  return mask;
}

template <typename Real>
void dropout_forward(const LayerContext<Real>& t) {
  if (!t.training) return copy_forward(t);
  const std::vector<float> mask = mask_of(t);
  for (std::size_t i = 0; i < mask.size(); ++i)
    t.output.values[i] = t.inputs[0].values[i] * static_cast<Real>(mask[i]);
}

template <typename Real>
void dropout_backward(const LayerContext<Real>& t) {
  const std::vector<float> mask = mask_of(t);
  for (std::size_t i = 0; i < mask.size(); ++i) {
    t.input_gradients[0].values[i] += t.output_gradient.values[i] * static_cast<Real>(mask[i]);
  }
}

template <typename Real>
struct KindRow {
  LayerKind kind;
  void (*forward)(const LayerContext<Real>&);
  void (*backward)(const LayerContext<Real>&);
};

template <typename Real>
void nothing(const LayerContext<Real>&) {}

// The rows are in the order of LayerKind.
template <typename Real>
constexpr KindRow<Real> kKinds[] = {
    {LayerKind::kInput, nothing, nothing},
    {LayerKind::kConv, conv_forward, conv_backward},
    {LayerKind::kDense, dense_forward, dense_backward},
    {LayerKind::kBatchNorm, batch_norm_forward, batch_norm_backward},
    {LayerKind::kActivation, activation_forward, activation_backward},
    {LayerKind::kMaxPool, max_pool_forward, max_pool_backward},
    {LayerKind::kAvgPool, avg_pool_forward, avg_pool_backward},
    {LayerKind::kGlobalAvgPool, global_pool_forward, global_pool_backward},
    {LayerKind::kFlatten, copy_forward, copy_backward},
    {LayerKind::kAdd, add_forward, add_backward},
    {LayerKind::kScale, scale_forward, scale_backward},
    {LayerKind::kDropout, dropout_forward, dropout_backward},
    {LayerKind::kConcat, concat_forward, concat_backward},
    {LayerKind::kLayerNorm, layer_norm_forward, layer_norm_backward},
    {LayerKind::kQuantize, quantize_forward, copy_backward},
    {LayerKind::kRmsNorm, layer_norm_forward, layer_norm_backward},
    {LayerKind::kAttention, attention_forward, attention_backward},
};

static_assert(std::size(kKinds<double>) == static_cast<std::size_t>(kLastLayerKind) + 1);

}  // namespace

template <typename Real>
void forward(const LayerContext<Real>& context) {
  kKinds<Real>[static_cast<std::size_t>(context.layer->kind)].forward(context);
}

template <typename Real>
void backward(const LayerContext<Real>& context) {
  kKinds<Real>[static_cast<std::size_t>(context.layer->kind)].backward(context);
}

template void forward(const LayerContext<float>&);
template void forward(const LayerContext<double>&);
template void backward(const LayerContext<float>&);
template void backward(const LayerContext<double>&);

}  // namespace detol::inline trainer::reference
