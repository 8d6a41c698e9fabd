#pragma once

// The layers of networks as ONNX defines them, for onnx_evaluator.cpp.

#include "tests/export/onnx_values.h"

namespace detol::testing {

// Calls visit(input place, weight place) for the taps of a window that lie inside of the image.
struct OnnxWindow {
  OnnxWindow(const OnnxNode& node, const Extents& kernel_shape)
      : kernel(integers_of(node, "kernel_shape", kernel_shape)),
        strides(integers_of(node, "strides", {1, 1})),
        dilations(integers_of(node, "dilations", {1, 1})),
        pads(integers_of(node, "pads", {0, 0, 0, 0})) {}

  Extents output(Extents shape) const {
    for (std::size_t i = 0; i < 2; ++i)
      shape[i + 2] =
          (shape[i + 2] + pads[i] + pads[i + 2] - dilations[i] * (kernel[i] - 1) - 1) / strides[i] +
          1;
    return shape;
  }
  void taps(const OnnxValue& x, Extents place,
            const std::function<void(double, std::int64_t)>& visit) const {
    const std::int64_t top = place[2] * strides[0] - pads[0],
                       left = place[3] * strides[1] - pads[1];
    for (std::int64_t a = 0; a < kernel[0]; ++a) {
      for (std::int64_t b = 0; b < kernel[1]; ++b) {
        place[2] = top + a * dilations[0], place[3] = left + b * dilations[1];
        if (place[2] < 0 || place[2] >= x.shape[2] || place[3] < 0 || place[3] >= x.shape[3])
          continue;
        visit(x.numbers[index_of(place, x.shape)], a * kernel[1] + b);
      }
    }
  }
  Extents kernel, strides, dilations, pads;
};

inline OnnxValue convolved(const OnnxNode& node, const Operands& in) {
  const OnnxValue &x = *in[0], &weight = *in[1];
  const OnnxWindow window(node, {weight.shape[2], weight.shape[3]});
  const std::int64_t groups = integer_of(node, "group", 1), outputs = weight.shape[0];
  const std::int64_t read = weight.shape[1], taps = window.kernel[0] * window.kernel[1];
  Extents shape = window.output(x.shape);
  shape[1] = outputs;
  return made(shape, x.type, [&](Extents place) {
    const std::int64_t output = place[1], group = output / (outputs / groups);
    double sum = in.size() > 2 ? in[2]->numbers[std::size_t(output)] : 0;
    for (std::int64_t c = 0; c < read; ++c) {
      place[1] = group * read + c;
      window.taps(x, place, [&](double number, std::int64_t tap) {
        sum += number * weight.numbers[std::size_t((output * read + c) * taps + tap)];
      });
    }
    return sum;
  });
}

inline OnnxValue pooled(const OnnxNode& node, const OnnxValue& x, bool takes_mean) {
  const OnnxWindow window(node, {});
  return made(window.output(x.shape), x.type, [&](const Extents& place) {
    std::vector<double> seen;
    window.taps(x, place, [&](double number, std::int64_t) { seen.push_back(number); });
    if (!takes_mean) return std::ranges::max(seen);
    return std::accumulate(seen.begin(), seen.end(), 0.0) / static_cast<double>(seen.size());
  });
}

inline OnnxValue mean_of_images(const OnnxValue& x) {
  const auto size = static_cast<std::size_t>(x.shape[2] * x.shape[3]);
  return made({x.shape[0], x.shape[1], 1, 1}, x.type, [&](const Extents& place) {
    const auto first = static_cast<std::size_t>(place[0] * x.shape[1] + place[1]) * size;
    const auto plane = std::span(x.numbers).subspan(first, size);
    return std::accumulate(plane.begin(), plane.end(), 0.0) / static_cast<double>(size);
  });
}

inline OnnxValue batch_normed(const OnnxNode& node, const Operands& in) {
  return made(in[0]->shape, in[0]->type, [&](const Extents& place) {
    const auto of = [&](std::size_t i) { return in[i]->numbers[std::size_t(place[1])]; };
    const double x = in[0]->numbers[index_of(place, in[0]->shape)];
    return of(1) * (x - of(3)) / std::sqrt(of(4) + epsilon_of(node)) + of(2);
  });
}

inline OnnxValue layer_normed(const OnnxNode& node, const Operands& in) {
  const auto of = [&](std::vector<double> x) {
    const auto size = static_cast<double>(x.size());
    const double mean = std::accumulate(x.begin(), x.end(), 0.0) / size;
    double variance = 0;
    for (const double one : x) variance += (one - mean) * (one - mean) / size;
    for (std::size_t i = 0; i < x.size(); ++i)
      x[i] = (x[i] - mean) / std::sqrt(variance + epsilon_of(node)) * in[1]->numbers.at(i) +
             in[2]->numbers.at(i);
    return x;
  };
  return along_axis(*in[0], {in[0]->shape, integer_of(node, "axis", -1)}, true, in[0]->type, of);
}

inline OnnxValue as_levels(const Operands& in) {
  return made(in[0]->shape, onnx::TensorProto::UINT8, [&](const Extents& place) {
    const double x = in[0]->numbers[index_of(place, in[0]->shape)];
    return std::clamp(std::nearbyint(static_cast<float>(x / in[1]->numbers[0])) + in[2]->numbers[0],
                      0.0, 255.0);
  });
}

inline OnnxValue from_levels(const OnnxNode& node, const Operands& in) {
  const auto axis = static_cast<std::size_t>(integer_of(node, "axis", 1));
  return made(in[0]->shape, onnx::TensorProto::FLOAT, [&](const Extents& place) {
    const bool is_one = in[1]->numbers.size() == 1;
    const double zero = in.size() > 2 ? in[2]->numbers[0] : 0;
    return (in[0]->numbers[index_of(place, in[0]->shape)] - zero) *
           in[1]->numbers[is_one ? 0 : std::size_t(place.at(axis))];
  });
}

}  // namespace detol::testing
