#pragma once

// Path: adds layers to a network one after another, under names that start with its scope.
// Encodings write their blocks with it. Private to encodings/.
//
//   Path path(builder, builder.input(), "stem");
//   path.conv({.channels = 16, .kernel = 3}, "conv");    // "stem.conv"
//   path.batch_norm("bn");
//   const NodeId output = path.end();
//
// Over a sequence (an image one pixel high) the windows of convolutions and pools are one high.

#include <string>
#include <string_view>
#include <vector>

#include "encodings/network/network.h"

namespace detol::inline encoding {

class Path {
 public:
  // REQUIRES: `builder` outlives the path.
  Path(NetworkBuilder& builder, NodeId from, std::string scope)
      : builder_(builder), scope_(std::move(scope)), end_(from) {}

  NodeId end() const { return end_; }
  void jump_to(NodeId node) { end_ = node; }
  void enter(std::string scope) { scope_ = std::move(scope); }
  const Shape& shape() const { return builder_.shape(end_); }

  void add(const Layer& layer, std::string_view name);
  void join(LayerKind kind, std::vector<NodeId> inputs, std::string_view name);

  struct Conv {
    std::int64_t channels, kernel = 1, stride = 1, groups = 1, dilation = 1;
    bool bias = false;
  };
  void conv(const Conv& conv, std::string_view name);
  void pool(LayerKind kind, std::int64_t kernel, std::int64_t stride, std::string_view name);
  void dense(std::int64_t channels, bool bias, std::string_view name);
  void batch_norm(std::string_view name);
  void activate(Activation activation, std::string_view name);
  void dropout(double rate);  // adds nothing at rate 0
  // Adds 1x1 conv - bn, as "<scope>.shortcut.conv", "<scope>.shortcut.bn".
  void projection(std::int64_t channels, std::int64_t stride);

 private:
  NetworkBuilder& builder_;
  std::string scope_;
  NodeId end_;
};

}  // namespace detol::inline encoding
