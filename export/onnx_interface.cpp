#include "export/onnx_interface.h"

#include <fmt/format.h>

#include <functional>
#include <map>
#include <set>

#include "core/table.h"
#include "export/metadata.h"
#include "export/onnx_nodes.h"
#include "export/onnx_picture.h"
#include "export/onnx_table.h"
#include "export/refuse.h"
#include "trainer/ensemble.h"

namespace detol::inline exporting {
namespace {

constexpr const char* kLessOffsets = "prediction.less";

class Writer : private OnnxNodes {
 public:
  explicit Writer(onnx::GraphProto& graph) : OnnxNodes(graph), graph_(graph) {}

  std::string normalised(const std::string& input, const Model& model) {
    const Integers shape{1, static_cast<std::int64_t>(model.mean.size()), 1, 1};
    const std::string mean = floats("input.mean", shape, model.mean);
    const std::string deviation = floats("input.deviation", shape, model.deviation);
    add("Sub", "input.centred", {input, mean});
    add("Div", "input.normalised", {"input.centred", deviation});
    return "input.normalised";
  }

  std::string without_offsets(const std::string& input, const Model& model) {
    const Integers shape{1, static_cast<std::int64_t>(model.offsets.inputs.size()), 1, 1};
    return less("input.less", input, shape, model.offsets.inputs);
  }

  // Adds the targets' offsets to the predictions, as doubles.
  void add_target_offsets(const std::vector<double>& offsets) {
    set_int(add("Cast", "prediction.exact", {kLessOffsets}), "to", onnx::TensorProto::DOUBLE);
    const Integers shape{1, static_cast<std::int64_t>(offsets.size())};
    add("Add", "prediction", {"prediction.exact", doubles("prediction.offset", shape, offsets)});
  }

  // Adds the mean of the members' votes, N x outputs, under the output's name.
  void vote(const Model& model, std::int64_t outputs) {
    const auto members = static_cast<std::int64_t>(model.shares.size());
    const std::string shape = integers("votes.shape", {3}, {0, members, outputs});
    const std::string shares = floats("votes.shares", {1, members, 1}, model.shares);
    const std::string by_member = op("Reshape", "votes.by_member", {"votes", shape});
    if (model.task == TaskKind::kRegression)
      return mean(model.offsets.targets.empty() ? "prediction" : kLessOffsets, by_member, shares);
    if (model.task == TaskKind::kClassification) {
      set_int(add("Softmax", "votes.probabilities", {by_member}), "axis", 2);
      return add_log("logits", "votes.probabilities", shares);
    }
    add_log("votes.log", op("Sigmoid", "votes.probabilities", {by_member}), shares);
    const std::string against = op("Neg", "votes.against", {by_member});
    add_log("votes.log_against", op("Sigmoid", "votes.probabilities_against", {against}), shares);
    add("Sub", "logits", {"votes.log", "votes.log_against"});
  }

  // Each returns the type of `label`.
  int classes(const std::vector<std::string>& names, double threshold) {
    set_int(add("Softmax", "probabilities", {"logits"}), "axis", 1);
    const std::string index = names.empty() ? "label" : "label.index";
    if (threshold != kUsualThreshold) {
      onnx::NodeProto& second =
          add("Gather", "probability.second", {"probabilities", integers("label.second", {}, {1})});
      set_int(second, "axis", 1);
      const std::string limit = floats("label.threshold", {}, {static_cast<float>(threshold)});
      const std::string above = op("Greater", "label.chosen", {"probability.second", limit});
      set_int(add("Cast", index, {above}), "to", onnx::TensorProto::INT64);
      return named(names);
    }
    onnx::NodeProto& largest = add("ArgMax", index, {"logits"});
    set_int(largest, "axis", 1);
    set_int(largest, "keepdims", 0);
    return named(names);
  }

  int two_classes(const std::vector<std::string>& names, double threshold) {
    add("Sigmoid", "probability.second", {"logits"});
    add("Sigmoid", "probability.first", {op("Neg", "logits.first", {"logits"})});
    set_int(add("Concat", "probabilities", {"probability.first", "probability.second"}), "axis", 1);
    const std::string index = names.empty() ? "label" : "label.index";
    const std::string flat =
        op("Squeeze", "label.chosen", {chosen(threshold), integers("label.axis", {1}, {1})});
    set_int(add("Cast", index, {flat}), "to", onnx::TensorProto::INT64);
    return named(names);
  }

  int labels(double threshold) {
    add("Sigmoid", "probabilities", {"logits"});
    set_int(add("Cast", "label", {chosen(threshold)}), "to", onnx::TensorProto::INT64);
    return onnx::TensorProto::INT64;
  }

  void declare(const std::string& name, int type, const Integers& per_image) {
    onnx::ValueInfoProto& info = *graph_.add_output();
    info.set_name(name);
    onnx::TypeProto::Tensor& tensor = *info.mutable_type()->mutable_tensor_type();
    tensor.set_elem_type(type);
    tensor.mutable_shape()->add_dim()->set_dim_param("N");
    for (const std::int64_t extent : per_image)
      tensor.mutable_shape()->add_dim()->set_dim_value(extent);
  }

 private:
  std::string op(const char* type, const std::string& name, const Names& inputs) {
    add(type, name, inputs);
    return name;
  }

  void mean(const std::string& name, const std::string& votes, const std::string& shares) {
    const std::string weighted = op("Mul", votes + ".weighted", {votes, shares});
    set_int(add("ReduceSum", name, {weighted, axis_of_members()}), "keepdims", 0);
  }

  void add_log(const std::string& name, const std::string& votes, const std::string& shares) {
    mean(votes + ".mean", votes, shares);
    add("Log", name, {op("Max", votes + ".bounded", {votes + ".mean", least_probability()})});
  }

  std::string axis_of_members() {
    return once("votes.axis", [&](const std::string& name) { integers(name, {1}, {1}); });
  }
  std::string least_probability() {
    return once("votes.least",
                [&](const std::string& name) { floats(name, {}, {kLeastProbability}); });
  }

  // Adds a constant unless it is there.
  std::string once(const std::string& name, const std::function<void(const std::string&)>& make) {
    if (constants_.insert(name).second) make(name);
    return name;
  }

  std::string chosen(double threshold) {
    const std::string limit =
        floats("logits.threshold", {}, {static_cast<float>(logit_of(threshold))});
    return op("Greater", "logits.chosen", {"logits", limit});
  }

  int named(const std::vector<std::string>& names) {
    if (names.empty()) return onnx::TensorProto::INT64;
    add("Gather", "label", {texts("label.names", names), "label.index"});
    return onnx::TensorProto::STRING;
  }

  onnx::GraphProto& graph_;
  std::set<std::string> constants_;  // that once() has added
};

PictureInput picture_of(const OnnxInterface& interface) {
  const Model& model = interface.model;
  if (model.pictures) return {*model.pictures, interface.shape, true};
  return {
      {.size = 0, .channels = static_cast<int>(interface.shape.channels)}, interface.shape, false};
}

void declare_numbers(onnx::GraphProto& graph, const OnnxInterface& interface) {
  onnx::ValueInfoProto& info = *graph.add_input();
  info.set_name(interface.names.front());
  info.set_doc_string(std::string(input_meaning(interface.model)));
  onnx::TypeProto::Tensor& tensor = *info.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(has_input_offsets(interface.model) ? onnx::TensorProto::DOUBLE
                                                          : onnx::TensorProto::FLOAT);
  const Shape& shape = interface.shape;
  tensor.mutable_shape()->add_dim()->set_dim_param("N");
  for (const std::int64_t extent : {shape.channels, shape.height, shape.width})
    tensor.mutable_shape()->add_dim()->set_dim_value(extent);
}

Result<void> has_constants(const onnx::GraphProto& graph, const onnx::GraphProto& expected) {
  std::map<std::string_view, const onnx::TensorProto*> there;
  for (const onnx::TensorProto& tensor : graph.initializer()) there[tensor.name()] = &tensor;
  for (const onnx::TensorProto& tensor : expected.initializer()) {
    const auto found = there.find(tensor.name());
    if (found == there.end() || found->second->SerializeAsString() != tensor.SerializeAsString())
      return refuse(fmt::format("the constant {} is not that of detol", in_quotes(tensor.name())));
  }
  return {};
}

Result<void> are_equal(const auto& found, const auto& expected, std::string_view what) {
  bool is_equal = found.size() == expected.size();
  for (int i = 0; is_equal && i < expected.size(); ++i)
    is_equal = found.Get(i).SerializeAsString() == expected.Get(i).SerializeAsString();
  if (is_equal) return {};
  return refuse(fmt::format("its {} are not those of the data that its metadata describe", what));
}

}  // namespace

OnnxInterface onnx_interface_of(const Model& model) {
  std::vector<std::string> names = {"input"};
  if (model.table && !model.is_raw) names = table_input_names(*model.table, model.network);
  return {model, model.network.input_shape(), std::move(names)};
}

const char* network_output_name(const Model& model) {
  if (!model.shares.empty()) return "votes";
  return model.offsets.targets.empty() ? output_name(model) : kLessOffsets;
}

std::string add_inputs(onnx::GraphProto& graph, const OnnxInterface& interface) {
  const Model& model = interface.model;
  if (model.table && !model.is_raw)
    return add_table_inputs(graph, interface.names, *model.table, model.offsets);
  std::string input = interface.names.front();
  if (model.reads_pixels && !model.is_raw) {
    const PictureInput picture = picture_of(interface);
    declare_picture_input(graph, input, picture);
    graph.mutable_input(0)->set_doc_string(std::string(input_meaning(model)));
    input = add_picture_input(graph, input, picture);
  } else {
    declare_numbers(graph, interface);
    if (has_input_offsets(model)) input = Writer(graph).without_offsets(input, model);
  }
  return Writer(graph).normalised(input, model);
}

void add_outputs(onnx::GraphProto& graph, const Model& model, std::int64_t outputs) {
  Writer writer(graph);
  if (!model.shares.empty()) writer.vote(model, outputs);
  if (!model.is_raw && model.task != TaskKind::kRegression) {
    const bool is_set = model.task == TaskKind::kMultiLabel;
    const bool is_binary = model.task == TaskKind::kBinary;
    const int type = is_set      ? writer.labels(model.threshold)
                     : is_binary ? writer.two_classes(model.class_names, model.threshold)
                                 : writer.classes(model.class_names, model.threshold);
    writer.declare("label", type, is_set ? std::vector{outputs} : std::vector<std::int64_t>());
    writer.declare("probabilities", onnx::TensorProto::FLOAT, {is_binary ? 2 : outputs});
  }
  const bool is_exact = !model.offsets.targets.empty();
  if (is_exact) writer.add_target_offsets(model.offsets.targets);
  writer.declare(output_name(model),
                 is_exact ? onnx::TensorProto::DOUBLE : onnx::TensorProto::FLOAT, {outputs});
  graph.mutable_output(graph.output_size() - 1)->set_doc_string(std::string(output_meaning(model)));
}

Result<void> has_nodes(const onnx::GraphProto& graph, int first, const onnx::GraphProto& expected) {
  if (first < 0 || graph.node_size() - first < expected.node_size())
    return refuse("its graph has too few nodes for the data that its metadata describe");
  for (int i = 0; i < expected.node_size(); ++i) {
    const onnx::NodeProto& node = graph.node(first + i);
    if (node.SerializeAsString() != expected.node(i).SerializeAsString())
      return refuse(
          fmt::format("node {} is not the one that detol writes there", in_quotes(node.name())));
  }
  return has_constants(graph, expected);
}

Result<void> begins_with(const onnx::GraphProto& graph, const onnx::GraphProto& expected) {
  DETOL_TRY(are_equal(graph.input(), expected.input(), "inputs"));
  return has_nodes(graph, 0, expected);
}

Result<void> ends_with(const onnx::GraphProto& graph, const onnx::GraphProto& expected) {
  DETOL_TRY(are_equal(graph.output(), expected.output(), "outputs"));
  return has_nodes(graph, graph.node_size() - expected.node_size(), expected);
}

}  // namespace detol::inline exporting
