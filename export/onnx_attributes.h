#pragma once

// OnnxAttributes: the attributes of one ONNX node from an untrusted file. Callers read each by
// name, then call finish(): an attribute that was not read changes the node's meaning and is an
// error. Private to this folder.

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "encodings/network/layer.h"

namespace detol::inline exporting {

class OnnxAttributes {
 public:
  explicit OnnxAttributes(const onnx::NodeProto& node);  // `node` outlives this

  // Return the value, or `otherwise` where there is none.
  std::int64_t integer(std::string_view name, std::int64_t otherwise);
  float number(std::string_view name, float otherwise);
  std::vector<std::int64_t> integers(std::string_view name, std::vector<std::int64_t> otherwise);

  // Reads kernel, stride, dilation and padding as the exporter writes those of a window. Errors
  // (kInput): windows that detol does not have.
  Result<void> window(Layer& layer);

  // Checks that the attribute has the value, or is absent where that is the operator's default.
  void must_be(std::string_view name, std::int64_t value, std::int64_t by_default);

  // Errors (kInput): the first mistake of all calls, or an attribute that was not read.
  Result<void> finish() const;

 private:
  const onnx::AttributeProto* take(std::string_view name, onnx::AttributeProto::AttributeType type);

  std::map<std::string_view, const onnx::AttributeProto*> left_;
  std::string mistake_;
};

}  // namespace detol::inline exporting
