#include "export/onnx_nodes.h"

#include <bit>

namespace detol::inline exporting {
namespace {

static_assert(std::endian::native == std::endian::little, "raw_data is little-endian");

onnx::AttributeProto& attribute(onnx::NodeProto& node, const char* name,
                                onnx::AttributeProto::AttributeType type) {
  onnx::AttributeProto& added = *node.add_attribute();
  added.set_name(name);
  added.set_type(type);
  return added;
}

}  // namespace

onnx::NodeProto& OnnxNodes::add(const char* op, const std::string& name, const Names& inputs) {
  onnx::NodeProto& node = *graph_.add_node();
  node.set_op_type(op);
  node.set_name(name);
  for (const std::string& input : inputs) node.add_input(input);
  node.add_output(name);
  return node;
}

void OnnxNodes::set_int(onnx::NodeProto& node, const char* name, std::int64_t value) {
  attribute(node, name, onnx::AttributeProto::INT).set_i(value);
}

void OnnxNodes::set_float(onnx::NodeProto& node, const char* name, float value) {
  attribute(node, name, onnx::AttributeProto::FLOAT).set_f(value);
}

void OnnxNodes::set_ints(onnx::NodeProto& node, const char* name, const Integers& values) {
  onnx::AttributeProto& added = attribute(node, name, onnx::AttributeProto::INTS);
  for (std::int64_t value : values) added.add_ints(value);
}

void OnnxNodes::set_strings(onnx::NodeProto& node, const char* name,
                            const std::vector<std::string_view>& values) {
  onnx::AttributeProto& added = attribute(node, name, onnx::AttributeProto::STRINGS);
  for (const std::string_view value : values) added.add_strings(std::string(value));
}

std::string OnnxNodes::constant(const std::string& name, const Integers& shape, int type,
                                const void* data, std::size_t bytes) {
  onnx::TensorProto& tensor = *graph_.add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(type);
  for (std::int64_t extent : shape) tensor.add_dims(extent);
  tensor.set_raw_data(data, bytes);
  return name;
}

std::string OnnxNodes::floats(const std::string& name, const Integers& shape,
                              const std::vector<float>& data) {
  return constant(name, shape, onnx::TensorProto::FLOAT, data);
}

std::string OnnxNodes::doubles(const std::string& name, const Integers& shape,
                               const std::vector<double>& data) {
  return constant(name, shape, onnx::TensorProto::DOUBLE, data);
}

std::string OnnxNodes::less(const std::string& name, const std::string& edge, const Integers& shape,
                            const std::vector<double>& offsets) {
  add("Sub", name + ".exact", {edge, doubles(name + ".offset", shape, offsets)});
  set_int(add("Cast", name, {name + ".exact"}), "to", onnx::TensorProto::FLOAT);
  return name;
}

std::string OnnxNodes::integers(const std::string& name, const Integers& shape,
                                const Integers& data) {
  return constant(name, shape, onnx::TensorProto::INT64, data);
}

std::string OnnxNodes::texts(const std::string& name, const Names& data) {
  onnx::TensorProto& tensor = *graph_.add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(onnx::TensorProto::STRING);
  tensor.add_dims(static_cast<std::int64_t>(data.size()));
  for (const std::string& text : data) tensor.add_string_data(text);
  return name;
}

}  // namespace detol::inline exporting
