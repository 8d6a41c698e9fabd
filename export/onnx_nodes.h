#pragma once

// OnnxNodes: adds nodes and constants to an ONNX graph. Private to this folder.

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace detol::inline exporting {

class OnnxNodes {
 public:
  using Names = std::vector<std::string>;
  using Integers = std::vector<std::int64_t>;

  explicit OnnxNodes(onnx::GraphProto& graph) : graph_(graph) {}  // it outlives this

  // Adds a node whose output has its name.
  onnx::NodeProto& add(const char* op, const std::string& name, const Names& inputs);

  static void set_int(onnx::NodeProto& node, const char* name, std::int64_t value);
  static void set_float(onnx::NodeProto& node, const char* name, float value);
  static void set_ints(onnx::NodeProto& node, const char* name, const Integers& values);

  static void set_strings(onnx::NodeProto& node, const char* name,
                          const std::vector<std::string_view>& values);

  // Add a constant and return its name.
  template <typename Number>
  std::string constant(const std::string& name, const Integers& shape, int type,
                       const std::vector<Number>& data) {
    return constant(name, shape, type, data.data(), data.size() * sizeof(Number));
  }
  std::string floats(const std::string& name, const Integers& shape,
                     const std::vector<float>& data);
  std::string doubles(const std::string& name, const Integers& shape,
                      const std::vector<double>& data);
  std::string integers(const std::string& name, const Integers& shape, const Integers& data);
  std::string texts(const std::string& name, const Names& data);

  // Adds nodes that subtract offsets from an edge of doubles; returns the edge of floats, `name`.
  std::string less(const std::string& name, const std::string& edge, const Integers& shape,
                   const std::vector<double>& offsets);

 private:
  std::string constant(const std::string& name, const Integers& shape, int type, const void* data,
                       std::size_t bytes);

  onnx::GraphProto& graph_;
};

}  // namespace detol::inline exporting
