#include "export/onnx_attributes.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/table.h"
#include "export/refuse.h"

namespace detol::inline exporting {
namespace {

using Integers = std::vector<std::int64_t>;

}  // namespace

OnnxAttributes::OnnxAttributes(const onnx::NodeProto& node) {
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (!left_.emplace(attribute.name(), &attribute).second)
      mistake_ = fmt::format("the attribute {} stands there twice", in_quotes(attribute.name()));
  }
}

const onnx::AttributeProto* OnnxAttributes::take(std::string_view name,
                                                 onnx::AttributeProto::AttributeType type) {
  const auto found = left_.find(name);
  if (found == left_.end()) return nullptr;
  const onnx::AttributeProto* attribute = found->second;
  left_.erase(found);
  if (attribute->type() == type) return attribute;
  mistake_ = fmt::format("the attribute '{}' is of another type", name);
  return nullptr;
}

std::int64_t OnnxAttributes::integer(std::string_view name, std::int64_t otherwise) {
  const auto* attribute = take(name, onnx::AttributeProto::INT);
  return attribute != nullptr ? attribute->i() : otherwise;
}

float OnnxAttributes::number(std::string_view name, float otherwise) {
  const auto* attribute = take(name, onnx::AttributeProto::FLOAT);
  return attribute != nullptr ? attribute->f() : otherwise;
}

std::vector<std::int64_t> OnnxAttributes::integers(std::string_view name,
                                                   std::vector<std::int64_t> otherwise) {
  const auto* attribute = take(name, onnx::AttributeProto::INTS);
  if (attribute == nullptr) return otherwise;
  return {attribute->ints().begin(), attribute->ints().end()};
}

Result<void> OnnxAttributes::window(Layer& layer) {
  const Integers kernel = integers("kernel_shape", {height_of(layer), layer.kernel});
  const Integers strides = integers("strides", {1, 1});
  const Integers dilations = integers("dilations", {1, 1});
  const Integers pads = integers("pads", {0, 0, 0, 0});
  for (const Integers& pair : {kernel, strides, dilations}) {
    // No layer has more than 1024; the limit also prevents an overflow of the padding.
    if (pair.size() != 2 || std::ranges::min(pair) < 1 || std::ranges::max(pair) > 1024)
      return refuse("its kernel, strides and dilations must be pairs of 1 to 1024");
  }
  if (strides[0] != strides[1] || dilations[0] != dilations[1])
    return refuse("its strides and dilations must be square");
  layer.kernel_height = kernel[0];
  layer.kernel = kernel[1];
  layer.stride = strides[0];
  layer.dilation = dilations[0];
  const std::int64_t above = padding_above(layer), beside = padding_beside(layer);
  if (pads == Integers{above, beside, above, beside}) return {};
  return refuse(
      fmt::format("its padding must be {} above and below, {} left and right", above, beside));
}

void OnnxAttributes::must_be(std::string_view name, std::int64_t value, std::int64_t by_default) {
  const std::int64_t is = integer(name, by_default);
  if (is != value)
    mistake_ = fmt::format("the attribute '{}' is {}; detol writes {}", name, is, value);
}

Result<void> OnnxAttributes::finish() const {
  if (!mistake_.empty()) return fail(ErrorCode::kInput, mistake_);
  if (left_.empty()) return {};
  return fail(ErrorCode::kInput,
              fmt::format("detol writes no attribute {} there", in_quotes(left_.begin()->first)));
}

}  // namespace detol::inline exporting
