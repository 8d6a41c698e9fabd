#pragma once

// The values of an ONNX graph and how numbers are computed from them, for onnx_evaluator.cpp.

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <span>
#include <stdexcept>

#include "tests/export/onnx_evaluator.h"

namespace detol::testing {

using Extents = std::vector<std::int64_t>;
using OnnxNode = onnx::NodeProto;
using Operands = std::vector<const OnnxValue*>;

inline std::int64_t numbers_of(const Extents& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

inline const onnx::AttributeProto* attribute_of(const OnnxNode& node, std::string_view name) {
  for (const onnx::AttributeProto& one : node.attribute()) {
    if (one.name() == name) return &one;
  }
  return nullptr;
}

inline std::int64_t integer_of(const OnnxNode& node, const char* name, std::int64_t otherwise) {
  const auto* found = attribute_of(node, name);
  return found != nullptr ? found->i() : otherwise;
}

inline Extents integers_of(const OnnxNode& node, const char* name, Extents otherwise) {
  const auto* found = attribute_of(node, name);
  return found != nullptr ? Extents(found->ints().begin(), found->ints().end()) : otherwise;
}

inline double number_of(const OnnxNode& node, const char* name, double otherwise) {
  const auto* found = attribute_of(node, name);
  return found != nullptr ? double{found->f()} : otherwise;
}

inline double epsilon_of(const OnnxNode& node) {
  return number_of(node, "epsilon", 1e-5);
}

inline Extents integers_in(const OnnxValue& value) {
  return {value.numbers.begin(), value.numbers.end()};
}

// Returns where the place of a larger shape is in a smaller one that is broadcast to it.
inline std::size_t index_of(const Extents& place, const Extents& shape) {
  std::int64_t at = 0;
  const std::size_t skipped = place.size() - shape.size();
  for (std::size_t i = 0; i < shape.size(); ++i)
    at = at * shape[i] + (shape[i] == 1 ? 0 : place.at(skipped + i));
  return static_cast<std::size_t>(at);
}

// Makes a value of the number at each place.
inline OnnxValue made(const Extents& shape, int type,
                      const std::function<double(const Extents&)>& of) {
  OnnxValue value{shape, type};
  Extents place(shape.size());
  for (std::int64_t left = numbers_of(shape); left > 0; --left) {
    const double number = of(place);
    value.numbers.push_back(type == onnx::TensorProto::FLOAT ? double{static_cast<float>(number)}
                                                             : number);
    for (std::size_t i = shape.size(); i-- > 0;) {
      if (++place[i] < shape[i]) break;
      place[i] = 0;
    }
  }
  return value;
}

inline OnnxValue reshaped(const OnnxValue& in, Extents shape) {
  OnnxValue out = in;
  std::int64_t known = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0) shape[i] = in.shape.at(i);
    if (shape[i] > 0) known *= shape[i];
  }
  std::ranges::replace(shape, std::int64_t{-1}, numbers_of(in.shape) / known);
  if (numbers_of(shape) != numbers_of(in.shape)) throw std::runtime_error("a wrong shape");
  out.shape = std::move(shape);
  return out;
}

inline Extents broadcast(const Operands& in) {
  Extents shape;
  for (const OnnxValue* one : in) {
    if (one->shape.size() > shape.size())
      shape.insert(shape.begin(), one->shape.size() - shape.size(), 1);
    for (std::size_t i = 0; i < one->shape.size(); ++i) {
      std::int64_t& extent = shape[shape.size() - one->shape.size() + i];
      if (one->shape[i] != 1 && extent != 1 && extent != one->shape[i])
        throw std::runtime_error("shapes that do not broadcast");
      extent = std::max(extent, one->shape[i]);
    }
  }
  return shape;
}

struct Elementwise {
  double (*of)(std::span<const double> x);
  bool is_truth = false;
};

inline const std::map<std::string, Elementwise>& elementwise() {
  using In = std::span<const double>;
  static const std::map<std::string, Elementwise> all = {
      {"Add", {[](In x) { return x[0] + x[1]; }}},
      {"Sum", {[](In x) { return std::accumulate(x.begin(), x.end(), 0.0); }}},
      {"Sub", {[](In x) { return x[0] - x[1]; }}},
      {"Mul", {[](In x) { return x[0] * x[1]; }}},
      {"Div", {[](In x) { return x[0] / x[1]; }}},
      {"Max", {[](In x) { return std::ranges::max(x); }}},
      {"Min", {[](In x) { return std::ranges::min(x); }}},
      {"Clip", {[](In x) { return std::min(std::max(x[0], x[1]), x[2]); }}},
      {"Where", {[](In x) { return x[0] != 0 ? x[1] : x[2]; }}},
      {"Floor", {[](In x) { return std::floor(x[0]); }}},
      {"Abs", {[](In x) { return std::abs(x[0]); }}},
      {"Neg", {[](In x) { return -x[0]; }}},
      {"Log", {[](In x) { return std::log(x[0]); }}},
      {"Relu", {[](In x) { return std::max(x[0], 0.0); }}},
      {"Sqrt", {[](In x) { return std::sqrt(x[0]); }}},
      {"Tanh", {[](In x) { return std::tanh(x[0]); }}},
      {"Erf", {[](In x) { return std::erf(x[0]); }}},
      {"Sigmoid", {[](In x) { return 1 / (1 + std::exp(-x[0])); }}},
      {"IsNaN", {[](In x) { return std::isnan(x[0]) ? 1.0 : 0.0; }, true}},
      {"And", {[](In x) { return x[0] != 0 && x[1] != 0 ? 1.0 : 0.0; }, true}},
      {"Equal", {[](In x) { return x[0] == x[1] ? 1.0 : 0.0; }, true}},
      {"Greater", {[](In x) { return x[0] > x[1] ? 1.0 : 0.0; }, true}},
      {"GreaterOrEqual", {[](In x) { return x[0] >= x[1] ? 1.0 : 0.0; }, true}},
      {"Less", {[](In x) { return x[0] < x[1] ? 1.0 : 0.0; }, true}}};
  return all;
}

inline OnnxValue element_by_element(const OnnxNode& node, const Elementwise& op,
                                    const Operands& in) {
  const int of_inputs = in[node.op_type() == "Where" ? 1 : 0]->type;
  const int type = op.is_truth ? static_cast<int>(onnx::TensorProto::BOOL) : of_inputs;
  const bool is_whole = type == onnx::TensorProto::INT64;
  std::vector<double> x(in.size());
  return made(broadcast(in), type, [&](const Extents& place) {
    for (std::size_t i = 0; i < in.size(); ++i)
      x[i] = in[i]->numbers.at(index_of(place, in[i]->shape));
    return is_whole ? std::trunc(op.of(x)) : op.of(x);  // integers are divided towards zero
  });
}

// Returns the values along an axis, one after the other: before x along x behind.
struct Axis {
  Axis(const Extents& shape, std::int64_t axis)
      : at(static_cast<std::size_t>(axis < 0 ? axis + std::ssize(shape) : axis)),
        before(numbers_of({shape.begin(), shape.begin() + std::ptrdiff_t(at)})),
        along(shape.at(at)),
        behind(numbers_of({shape.begin() + std::ptrdiff_t(at) + 1, shape.end()})) {}
  std::size_t index(std::int64_t i, std::int64_t k, std::int64_t j) const {
    return static_cast<std::size_t>((i * along + k) * behind + j);
  }
  std::size_t at;
  std::int64_t before, along, behind;
};

// Replaces the numbers along an axis by what `of` makes of them; one number removes the axis.
inline OnnxValue along_axis(const OnnxValue& in, const Axis& axis, bool keeps, int type,
                            const std::function<std::vector<double>(std::vector<double>)>& of) {
  OnnxValue out{in.shape, type, std::vector<double>(in.numbers.size())};
  std::size_t count = 0;
  for (std::int64_t i = 0; i < axis.before; ++i) {
    for (std::int64_t j = 0; j < axis.behind; ++j) {
      std::vector<double> line;
      for (std::int64_t k = 0; k < axis.along; ++k) line.push_back(in.numbers[axis.index(i, k, j)]);
      line = of(line);
      count = line.size();
      for (std::size_t k = 0; k < count; ++k) {
        const auto extent = static_cast<std::int64_t>(count);
        const std::int64_t at = (i * extent + static_cast<std::int64_t>(k)) * axis.behind + j;
        out.numbers[static_cast<std::size_t>(at)] =
            type == onnx::TensorProto::FLOAT ? double{static_cast<float>(line[k])} : line[k];
      }
    }
  }
  out.shape[axis.at] = static_cast<std::int64_t>(count);
  out.numbers.resize(static_cast<std::size_t>(numbers_of(out.shape)));
  if (!keeps && count == 1) out.shape.erase(out.shape.begin() + std::ptrdiff_t(axis.at));
  return out;
}

}  // namespace detol::testing
