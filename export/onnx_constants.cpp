#include "export/onnx_constants.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "core/table.h"

namespace detol::inline exporting {
namespace {

using Integers = std::vector<std::int64_t>;

static_assert(std::endian::native == std::endian::little, "raw_data is little-endian");

tl::unexpected<Error> refuse_constant(const std::string& name, const std::string& what) {
  return fail(ErrorCode::kInput, fmt::format("the constant {} {}", in_quotes(name), what));
}

// Returns the constant's numbers, if there are as many as in its shape.
template <typename Number>
Result<std::vector<Number>> numbers_of(const onnx::TensorProto& constant, int type) {
  if (constant.data_type() != type) return refuse_constant(constant.name(), "is of another type");
  std::uint64_t bytes = sizeof(Number);
  for (const std::int64_t extent : constant.dims()) {
    if (extent < 1 || __builtin_mul_overflow(bytes, static_cast<std::uint64_t>(extent), &bytes))
      return refuse_constant(constant.name(), "has an impossible shape");
  }
  const std::string& raw = constant.raw_data();
  if (raw.size() != bytes) {
    return refuse_constant(
        constant.name(),
        fmt::format("holds {} bytes of raw_data; its shape asks for {}", raw.size(), bytes));
  }
  std::vector<Number> numbers(bytes / sizeof(Number));
  std::memcpy(numbers.data(), raw.data(), bytes);
  return numbers;
}

}  // namespace

Result<OnnxConstants> OnnxConstants::of(const onnx::GraphProto& graph) {
  OnnxConstants constants;
  for (const onnx::TensorProto& constant : graph.initializer()) {
    const bool elsewhere = constant.data_location() == onnx::TensorProto::EXTERNAL ||
                           constant.external_data_size() != 0;
    if (elsewhere) return refuse_constant(constant.name(), "keeps its numbers in another file");
    if (!constants.by_name_.emplace(constant.name(), &constant).second)
      return refuse_constant(constant.name(), "stands there twice");
  }
  return constants;
}

Result<const onnx::TensorProto*> OnnxConstants::find(const std::string& name) const {
  const auto found = by_name_.find(name);
  if (found != by_name_.end()) return found->second;
  return refuse_constant(name, "is missing");
}

Result<Integers> OnnxConstants::shape(const std::string& name) const {
  DETOL_ASSIGN(const onnx::TensorProto* constant, find(name));
  return Integers(constant->dims().begin(), constant->dims().end());
}

Result<Integers> OnnxConstants::integers(const std::string& name) const {
  DETOL_ASSIGN(const onnx::TensorProto* constant, find(name));
  if (constant->dims_size() != 1) return refuse_constant(name, "is no list");
  return numbers_of<std::int64_t>(*constant, onnx::TensorProto::INT64);
}

Result<std::vector<std::uint8_t>> OnnxConstants::bytes(const std::string& name,
                                                       const Integers& shape) const {
  DETOL_ASSIGN(const onnx::TensorProto* constant, find(name));
  if (Integers(constant->dims().begin(), constant->dims().end()) != shape)
    return refuse_constant(name, "has another shape");
  return numbers_of<std::uint8_t>(*constant, onnx::TensorProto::UINT8);
}

Result<std::vector<float>> OnnxConstants::integers_as_floats(const std::string& name) const {
  DETOL_ASSIGN(const onnx::TensorProto* constant, find(name));
  if (constant->data_type() == onnx::TensorProto::INT8) {
    DETOL_ASSIGN(const auto levels, numbers_of<std::int8_t>(*constant, onnx::TensorProto::INT8));
    return std::vector<float>(levels.begin(), levels.end());
  }
  DETOL_ASSIGN(const auto levels, numbers_of<std::int32_t>(*constant, onnx::TensorProto::INT32));
  std::vector<float> floats;
  for (std::int32_t one : levels) floats.push_back(static_cast<float>(one));
  return floats;
}

Result<double> OnnxConstants::scalar(const std::string& name) const {
  DETOL_ASSIGN(const onnx::TensorProto* constant, find(name));
  if (constant->dims_size() != 0) return refuse_constant(name, "is no single number");
  DETOL_ASSIGN(const std::vector<double> numbers,
               numbers_of<double>(*constant, onnx::TensorProto::DOUBLE));
  return numbers.front();
}

Result<std::vector<float>> OnnxConstants::floats(const std::string& name,
                                                 const Integers& shape) const {
  DETOL_ASSIGN(const onnx::TensorProto* constant, find(name));
  return floats_of(*constant, shape);
}

Result<const onnx::TensorProto*> OnnxConstants::take(const std::string& name) {
  DETOL_ASSIGN(const onnx::TensorProto* constant, find(name));
  if (taken_.insert(constant->name()).second) return constant;
  return refuse_constant(name, "belongs to two layers");
}

Result<std::vector<float>> floats_of(const onnx::TensorProto& constant, const Integers& shape) {
  if (Integers(constant.dims().begin(), constant.dims().end()) != shape)
    return refuse_constant(constant.name(), "has not the shape of its layer");
  return numbers_of<float>(constant, onnx::TensorProto::FLOAT);
}

}  // namespace detol::inline exporting
