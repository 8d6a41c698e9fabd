#include "export/onnx_edges.h"

#include <fmt/format.h>

#include "core/table.h"

namespace detol::inline exporting {
namespace {

tl::unexpected<Error> misread(const onnx::NodeProto& node, int slot, const char* before,
                              const char* after) {
  return fail(ErrorCode::kInput,
              fmt::format("it reads {}{}{}", before, in_quotes(node.input(slot)), after));
}

}  // namespace

bool OnnxEdges::emplace(const std::string& name, const OnnxEdge& edge) {
  return by_name_.emplace(name, edge).second;
}

const OnnxEdge* OnnxEdges::find(const std::string& name) const {
  const auto found = by_name_.find(name);
  return found != by_name_.end() ? &found->second : nullptr;
}

Result<OnnxEdge> OnnxEdges::any(const onnx::NodeProto& node, int slot) const {
  if (const OnnxEdge* found = find(node.input(slot))) return *found;
  return misread(node, slot, "", ", which no node before it computes");
}

Result<OnnxEdge> OnnxEdges::channels_first(const onnx::NodeProto& node, int slot) const {
  DETOL_ASSIGN(const OnnxEdge found, any(node, slot));
  if (!found.is_channels_last) return found;
  return misread(node, slot, "", ", whose channels come last, as if they came first");
}

Result<OnnxEdge> OnnxEdges::image(const onnx::NodeProto& node, int slot) const {
  DETOL_ASSIGN(const OnnxEdge found, channels_first(node, slot));
  if (!found.is_matrix) return found;
  return misread(node, slot, "the matrix ", " as images");
}

Result<OnnxEdge> OnnxEdges::matrix(const onnx::NodeProto& node) const {
  DETOL_ASSIGN(const OnnxEdge found, channels_first(node, 0));
  if (found.is_matrix) return found;
  return misread(node, 0, "the images ", " as a matrix");
}

Result<OnnxEdge> OnnxEdges::either(const onnx::NodeProto& node) const {
  DETOL_ASSIGN(const OnnxEdge found, channels_first(node, 0));
  const Shape& shape = builder_.shape(found.node);
  if (!found.is_matrix || shape.height * shape.width == 1) return found;
  return misread(node, 0, "", " flat, which only dense layers do");
}

Result<std::vector<NodeId>> OnnxEdges::images(const onnx::NodeProto& node) const {
  std::vector<NodeId> inputs;
  for (int slot = 0; slot < node.input_size(); ++slot) {
    DETOL_ASSIGN(const OnnxEdge x, image(node, slot));
    inputs.push_back(x.node);
  }
  return inputs;
}

}  // namespace detol::inline exporting
