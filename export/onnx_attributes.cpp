#include "export/onnx_attributes.h"

#include <fmt/format.h>

#include "core/table.h"

namespace detol {

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

}  // namespace detol
