#include "tests/export/onnx_evaluator.h"

#include <cstring>

#include "tests/export/onnx_layers.h"

namespace detol::testing {
namespace {

OnnxValue softmax_of(const OnnxNode& node, const OnnxValue& in) {
  const auto of = [](std::vector<double> x) {
    const double largest = std::ranges::max(x);
    double sum = 0;
    for (double& one : x) sum += one = std::exp(one - largest);
    for (double& one : x) one /= sum;
    return x;
  };
  return along_axis(in, {in.shape, integer_of(node, "axis", -1)}, true, in.type, of);
}

OnnxValue gathered(const OnnxNode& node, const Operands& in) {
  const OnnxValue &from = *in[0], &which = *in[1];
  const Axis axis(from.shape, integer_of(node, "axis", 0));
  OnnxValue out{from.shape, from.type};
  out.shape.erase(out.shape.begin() + std::ptrdiff_t(axis.at));
  out.shape.insert(out.shape.begin() + std::ptrdiff_t(axis.at), which.shape.begin(),
                   which.shape.end());
  for (std::int64_t i = 0; i < axis.before; ++i) {
    for (const std::int64_t k : integers_in(which)) {
      for (std::int64_t j = 0; j < axis.behind; ++j) {
        if (k < 0 || k >= axis.along) throw std::runtime_error("an index beyond the axis");
        if (from.texts.empty())
          out.numbers.push_back(from.numbers[axis.index(i, k, j)]);
        else
          out.texts.push_back(from.texts[axis.index(i, k, j)]);
      }
    }
  }
  return out;
}

OnnxValue concatenated(const OnnxNode& node, const Operands& in) {
  const std::int64_t axis = integer_of(node, "axis", 0);
  OnnxValue out{in[0]->shape, in[0]->type};
  const auto at = static_cast<std::size_t>(axis);
  for (const OnnxValue* one : std::span(in).subspan(1)) out.shape[at] += one->shape.at(at);
  for (std::int64_t i = 0; i < Axis(out.shape, axis).before; ++i) {
    for (const OnnxValue* one : in) {
      const Axis own(one->shape, axis);
      const auto first = one->numbers.begin() + std::ptrdiff_t(own.index(i, 0, 0));
      out.numbers.insert(out.numbers.end(), first, first + own.along * own.behind);
    }
  }
  return out;
}

OnnxValue transposed(const OnnxNode& node, const OnnxValue& in) {
  const Extents order = integers_of(node, "perm", {});
  Extents shape;
  for (const std::int64_t axis : order) shape.push_back(in.shape.at(std::size_t(axis)));
  Extents from(order.size());
  return made(shape, in.type, [&](const Extents& place) {
    for (std::size_t i = 0; i < order.size(); ++i) from[std::size_t(order[i])] = place[i];
    return in.numbers[index_of(from, in.shape)];
  });
}

OnnxValue encoded(const OnnxNode& node, const OnnxValue& in) {
  const auto *keys = attribute_of(node, "keys_strings"),
             *codes = attribute_of(node, "values_int64s");
  OnnxValue out{in.shape, onnx::TensorProto::INT64};
  for (const std::string& text : in.texts) {
    const auto found = std::ranges::find(keys->strings(), text);
    out.numbers.push_back(
        static_cast<double>(found == keys->strings().end()
                                ? integer_of(node, "default_int64", -1)
                                : codes->ints(static_cast<int>(found - keys->strings().begin()))));
  }
  return out;
}

// Returns a x b with the numbers of b as they are or turned; leading axes are broadcast.
OnnxValue multiplied(const OnnxValue& a, const OnnxValue& b, bool turns_b) {
  Extents shape = a.shape.size() >= b.shape.size() ? a.shape : b.shape;
  const std::size_t rank = shape.size();
  const std::int64_t inner = a.shape.back();
  shape[rank - 2] = a.shape[a.shape.size() - 2];
  shape[rank - 1] = b.shape[b.shape.size() - (turns_b ? 2 : 1)];
  return made(shape, a.type, [&](Extents place) {
    const std::int64_t row = place[rank - 2], column = place[rank - 1];
    double sum = 0;
    for (std::int64_t k = 0; k < inner; ++k) {
      place[rank - 2] = row, place[rank - 1] = k;
      const double left = a.numbers.at(index_of(place, a.shape));
      place[rank - 2] = turns_b ? column : k, place[rank - 1] = turns_b ? k : column;
      sum += left * b.numbers.at(index_of(place, b.shape));
    }
    return sum;
  });
}

OnnxValue cast(const OnnxNode& node, const OnnxValue& in) {
  const auto to = static_cast<int>(integer_of(node, "to", 0));
  return made(in.shape, to, [&](const Extents& place) {
    const double number = in.numbers[index_of(place, in.shape)];
    return to == onnx::TensorProto::INT64 ? std::trunc(number) : number;
  });
}

Extents squeezed(const OnnxValue& in, const Operands& operands) {
  Extents axes = operands.size() > 1 ? integers_in(*operands[1]) : Extents{0}, shape;
  for (std::int64_t i = 0; i < std::ssize(in.shape); ++i) {
    if (std::ranges::find(axes, i) == axes.end()) shape.push_back(in.shape[std::size_t(i)]);
  }
  return shape;
}

Extents unsqueezed(Extents shape, const Extents& axes) {
  for (const std::int64_t axis : axes) shape.insert(shape.begin() + axis, 1);
  return shape;
}

OnnxValue counted(const OnnxValue& from, const OnnxValue& to) {
  OnnxValue out{{}, onnx::TensorProto::INT64};
  for (double x = from.numbers[0]; x < to.numbers[0]; ++x) out.numbers.push_back(x);
  out.shape = {std::ssize(out.numbers)};
  return out;
}

OnnxValue extents_of(const OnnxValue& x) {
  return {{std::ssize(x.shape)}, onnx::TensorProto::INT64, {x.shape.begin(), x.shape.end()}};
}

OnnxValue expanded(const OnnxNode&, const Operands& in) {
  const OnnxValue &x = *in[0], to{integers_in(*in.at(1)), x.type};
  return made(broadcast({&x, &to}), x.type,
              [&](const Extents& place) { return x.numbers[index_of(place, x.shape)]; });
}

// Returns the axis that an input of the node names.
Axis axis_in(const Operands& in, std::size_t input) {
  return {in[0]->shape, integers_in(*in.at(input)).front()};
}

OnnxValue sum_along(const OnnxNode& node, const Operands& in) {
  return along_axis(*in[0], axis_in(in, 1), integer_of(node, "keepdims", 1) != 0, in[0]->type,
                    [](const std::vector<double>& x) {
                      return std::vector{std::accumulate(x.begin(), x.end(), 0.0)};
                    });
}

OnnxValue mean_along(const OnnxNode& node, const Operands& in) {
  const Axis axis(in[0]->shape, integers_of(node, "axes", {}).at(0));
  return along_axis(*in[0], axis, integer_of(node, "keepdims", 1) != 0, in[0]->type,
                    [](const std::vector<double>& x) {
                      const auto count = static_cast<double>(x.size());
                      return std::vector{std::accumulate(x.begin(), x.end(), 0.0) / count};
                    });
}

OnnxValue largest_along(const OnnxNode& node, const Operands& in) {
  const Axis axis(in[0]->shape, integer_of(node, "axis", 0));
  return along_axis(
      *in[0], axis, integer_of(node, "keepdims", 1) != 0, onnx::TensorProto::INT64,
      [](const std::vector<double>& x) {
        return std::vector{static_cast<double>(std::ranges::max_element(x) - x.begin())};
      });
}

OnnxValue cumulated(const OnnxNode&, const Operands& in) {
  return along_axis(*in[0], axis_in(in, 1), true, in[0]->type, [](std::vector<double> x) {
    std::partial_sum(x.begin(), x.end(), x.begin());
    return x;
  });
}

OnnxValue sliced(const OnnxNode&, const Operands& in) {  // without steps
  const std::int64_t from = integers_in(*in.at(1))[0], to = integers_in(*in.at(2))[0];
  return along_axis(*in[0], axis_in(in, 3), true, in[0]->type, [&](const std::vector<double>& x) {
    return std::vector(x.begin() + from, to < 0 ? x.end() + to : x.begin() + to);
  });
}

OnnxValue gemm(const OnnxNode& node, const Operands& in) {
  const OnnxValue product = multiplied(*in[0], *in.at(1), integer_of(node, "transB", 0) != 0);
  if (in.size() < 3) return product;
  return element_by_element(node, elementwise().at("Add"), {&product, in[2]});
}

OnnxValue hard_sigmoid(const OnnxNode& node, const Operands& in) {
  OnnxValue y = *in[0];
  const double alpha = number_of(node, "alpha", 0.2), beta = number_of(node, "beta", 0.5);
  for (double& one : y.numbers) one = std::clamp(alpha * one + beta, 0.0, 1.0);
  return y;
}

OnnxValue leaky_relu(const OnnxNode& node, const Operands& in) {
  OnnxValue y = *in[0];
  const double alpha = number_of(node, "alpha", 0.01);
  for (double& one : y.numbers) one = one < 0 ? alpha * one : one;
  return y;
}

using Operator = OnnxValue (*)(const OnnxNode& node, const Operands& in);

const std::map<std::string, Operator>& operators_of_onnx() {
  using Node = const OnnxNode&;
  using In = const Operands&;
  static const std::map<std::string, Operator> all = {
      {"Dropout", [](Node, In in) { return *in[0]; }},
      {"HardSigmoid", hard_sigmoid},
      {"LeakyRelu", leaky_relu},
      {"Cast", [](Node node, In in) { return cast(node, *in[0]); }},
      {"Transpose", [](Node node, In in) { return transposed(node, *in[0]); }},
      {"Gather", gathered},
      {"Concat", concatenated},
      {"Softmax", [](Node node, In in) { return softmax_of(node, *in[0]); }},
      {"LabelEncoder", [](Node node, In in) { return encoded(node, *in[0]); }},
      {"MatMul", [](Node, In in) { return multiplied(*in[0], *in.at(1), false); }},
      {"Gemm", gemm},
      {"Conv", convolved},
      {"MaxPool", [](Node node, In in) { return pooled(node, *in[0], false); }},
      {"AveragePool", [](Node node, In in) { return pooled(node, *in[0], true); }},
      {"GlobalAveragePool", [](Node, In in) { return mean_of_images(*in[0]); }},
      {"BatchNormalization", batch_normed},
      {"LayerNormalization", layer_normed},
      {"QuantizeLinear", [](Node, In in) { return as_levels(in); }},
      {"DequantizeLinear", from_levels},
      {"Reshape", [](Node, In in) { return reshaped(*in[0], integers_in(*in.at(1))); }},
      {"Flatten",
       [](Node, In in) {
         return reshaped(*in[0], {in[0]->shape.at(0), -1});
       }},
      {"Squeeze", [](Node, In in) { return reshaped(*in[0], squeezed(*in[0], in)); }},
      {"Unsqueeze",
       [](Node, In in) {
         return reshaped(*in[0], unsqueezed(in[0]->shape, integers_in(*in.at(1))));
       }},
      {"ReduceSum", sum_along},
      {"ReduceMean", mean_along},
      {"ArgMax", largest_along},
      {"CumSum", cumulated},
      {"Slice", sliced},
      {"Expand", expanded},
      {"Range", [](Node, In in) { return counted(*in[0], *in.at(1)); }},
      {"Shape", [](Node, In in) { return extents_of(*in[0]); }}};
  return all;
}

OnnxValue computed(const OnnxNode& node, const Operands& in) {
  const std::string& op = node.op_type();
  const auto one = elementwise().find(op);
  if (one != elementwise().end()) return element_by_element(node, one->second, in);
  return operators_of_onnx().at(op)(node, in);
}

template <typename Number>
std::vector<double> numbers_from(const std::string& raw) {
  std::vector<Number> numbers(raw.size() / sizeof(Number));
  std::memcpy(numbers.data(), raw.data(), raw.size());
  return {numbers.begin(), numbers.end()};
}

OnnxValue constant_from(const onnx::TensorProto& tensor) {
  OnnxValue value{{tensor.dims().begin(), tensor.dims().end()}, tensor.data_type()};
  value.texts = {tensor.string_data().begin(), tensor.string_data().end()};
  const std::string& raw = tensor.raw_data();
  value.numbers = value.type == onnx::TensorProto::FLOAT    ? numbers_from<float>(raw)
                  : value.type == onnx::TensorProto::DOUBLE ? numbers_from<double>(raw)
                  : value.type == onnx::TensorProto::INT64  ? numbers_from<std::int64_t>(raw)
                  : value.type == onnx::TensorProto::INT32  ? numbers_from<std::int32_t>(raw)
                  : value.type == onnx::TensorProto::INT8   ? numbers_from<std::int8_t>(raw)
                                                            : numbers_from<std::uint8_t>(raw);
  return value;
}

}  // namespace

OnnxValues evaluate(const onnx::GraphProto& graph, OnnxValues inputs) {
  OnnxValues edges = std::move(inputs);
  for (const onnx::TensorProto& tensor : graph.initializer())
    edges[tensor.name()] = constant_from(tensor);
  for (const OnnxNode& node : graph.node()) {
    Operands in;
    for (const std::string& name : node.input()) in.push_back(&edges.at(name));
    edges[node.output(0)] = computed(node, in);
  }
  return edges;
}

}  // namespace detol::testing
