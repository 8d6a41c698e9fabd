#pragma once

// OnnxEdges: the edges of an ONNX graph from an untrusted file, by name. Private to this folder.

#include <onnx/onnx_pb.h>

#include <map>
#include <string>
#include <vector>

#include "encodings/network/network.h"

namespace detol::inline exporting {

// OnnxEdge: the output of a node of the network, as N x C x H x W, as N x C or as N x H x W x C.
struct OnnxEdge {
  NodeId node = 0;
  bool is_matrix = false;
  bool is_channels_last = false;
};

class OnnxEdges {
 public:
  explicit OnnxEdges(const NetworkBuilder& builder) : builder_(builder) {}  // it outlives this

  // Returns false if the name is taken.
  bool emplace(const std::string& name, const OnnxEdge& edge);
  // Returns null if no node computes it.
  const OnnxEdge* find(const std::string& name) const;

  // Return the edge that an ONNX node reads as its input `slot`, in any form or in the one named.
  // Errors (kInput): no node before it computes that, or it has another form.
  Result<OnnxEdge> any(const onnx::NodeProto& node, int slot) const;
  Result<OnnxEdge> channels_first(const onnx::NodeProto& node, int slot) const;
  Result<OnnxEdge> image(const onnx::NodeProto& node, int slot) const;
  Result<OnnxEdge> matrix(const onnx::NodeProto& node) const;
  // Returns an image or a matrix, for operators that read both alike.
  Result<OnnxEdge> either(const onnx::NodeProto& node) const;
  // Returns the nodes of all inputs, which must be images.
  Result<std::vector<NodeId>> images(const onnx::NodeProto& node) const;

 private:
  const NetworkBuilder& builder_;
  std::map<std::string, OnnxEdge, std::less<>> by_name_;
};

}  // namespace detol::inline exporting
