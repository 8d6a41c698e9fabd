#include "tests/support/cuda/cudnn_descriptor.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <string>

#include "tests/support/cuda/cudnn_engines.h"

namespace detol::emulated {
namespace {

enum class When { kRequired, kOptional, kAfter };  // must be set, may be set, read once final

// AttributeRow: an attribute of a descriptor, its type and its largest number of elements (cuDNN
// developer guide, "Backend Descriptor Types").
struct AttributeRow {
  cudnnBackendDescriptorType_t of;
  cudnnBackendAttributeName_t name;
  cudnnBackendAttributeType_t type;
  std::int64_t most;
  When when;
};

constexpr auto kTensor = CUDNN_BACKEND_TENSOR_DESCRIPTOR;
constexpr auto kConvolution = CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR;
constexpr auto kForward = CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR;
constexpr auto kData = CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR;
constexpr auto kFilter = CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR;
constexpr auto kGraph = CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR;
constexpr auto kHeuristics = CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR;
constexpr auto kEngine = CUDNN_BACKEND_ENGINE_DESCRIPTOR;
constexpr auto kConfig = CUDNN_BACKEND_ENGINECFG_DESCRIPTOR;
constexpr auto kKnob = CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR;
constexpr auto kPlan = CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR;
constexpr auto kPack = CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR;
constexpr auto kReference = CUDNN_TYPE_BACKEND_DESCRIPTOR;
using enum When;

constexpr AttributeRow kAttributes[] = {
    {kTensor, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, 1, kRequired},
    {kTensor, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, CUDNN_DIM_MAX, kRequired},
    {kTensor, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, CUDNN_DIM_MAX, kRequired},
    {kTensor, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, 1, kRequired},
    {kTensor, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, 1, kRequired},
    {kTensor, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, 1, kOptional},
    {kTensor, CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, 1, kOptional},
    {kConvolution, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, CUDNN_TYPE_INT64, 1, kRequired},
    {kConvolution, CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, 1, kRequired},
    {kConvolution, CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE, 1, kRequired},
    {kConvolution, CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64, CUDNN_DIM_MAX, kRequired},
    {kConvolution, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, CUDNN_TYPE_INT64, CUDNN_DIM_MAX,
     kRequired},
    {kConvolution, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, CUDNN_TYPE_INT64, CUDNN_DIM_MAX, kRequired},
    {kConvolution, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, CUDNN_TYPE_INT64, CUDNN_DIM_MAX,
     kRequired},
    {kForward, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_TYPE_FLOAT, 1, kRequired},
    {kForward, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, CUDNN_TYPE_FLOAT, 1, kRequired},
    {kForward, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, kReference, 1, kRequired},
    {kForward, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, kReference, 1, kRequired},
    {kForward, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, kReference, 1, kRequired},
    {kForward, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, kReference, 1, kRequired},
    {kData, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA, CUDNN_TYPE_FLOAT, 1, kRequired},
    {kData, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA, CUDNN_TYPE_FLOAT, 1, kRequired},
    {kData, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, kReference, 1, kRequired},
    {kData, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, kReference, 1, kRequired},
    {kData, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, kReference, 1, kRequired},
    {kData, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, kReference, 1, kRequired},
    {kFilter, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA, CUDNN_TYPE_FLOAT, 1, kRequired},
    {kFilter, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA, CUDNN_TYPE_FLOAT, 1, kRequired},
    {kFilter, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC, kReference, 1, kRequired},
    {kFilter, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW, kReference, 1, kRequired},
    {kFilter, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X, kReference, 1, kRequired},
    {kFilter, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY, kReference, 1, kRequired},
    {kGraph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, 1, kRequired},
    {kGraph, CUDNN_ATTR_OPERATIONGRAPH_OPS, kReference, 1, kRequired},
    {kGraph, CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT, CUDNN_TYPE_INT64, 1, kAfter},
    {kHeuristics, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, kReference, 1, kRequired},
    {kHeuristics, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, kRequired},
    {kHeuristics, CUDNN_ATTR_ENGINEHEUR_SM_COUNT_TARGET, CUDNN_TYPE_INT32, 1, kOptional},
    {kHeuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS, kReference, 64, kAfter},
    {kEngine, CUDNN_ATTR_ENGINE_OPERATION_GRAPH, kReference, 1, kRequired},
    {kEngine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, 1, kRequired},
    {kEngine, CUDNN_ATTR_ENGINE_SM_COUNT_TARGET, CUDNN_TYPE_INT32, 1, kOptional},
    {kEngine, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE, 64, kAfter},
    {kEngine, CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE, 64, kAfter},
    {kConfig, CUDNN_ATTR_ENGINECFG_ENGINE, kReference, 1, kRequired},
    {kConfig, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, kReference, 64, kOptional},
    {kKnob, CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, 1, kRequired},
    {kKnob, CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64, 1, kRequired},
    {kPlan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, 1, kRequired},
    {kPlan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, kReference, 1, kRequired},
    {kPlan, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, kAfter},
    {kPack, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, 64, kRequired},
    {kPack, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, 64, kRequired},
    {kPack, CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, kOptional},
};

const AttributeRow* row_of(cudnnBackendDescriptorType_t type, cudnnBackendAttributeName_t name) {
  const auto* found = std::ranges::find_if(
      kAttributes, [&](const AttributeRow& row) { return row.of == type && row.name == name; });
  return found == std::end(kAttributes) ? nullptr : found;
}

std::size_t size_of(cudnnBackendAttributeType_t type) {
  switch (type) {
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_VOID_PTR:
    case CUDNN_TYPE_BACKEND_DESCRIPTOR:
      return sizeof(void*);
    case CUDNN_TYPE_BOOLEAN:
      return sizeof(bool);
    case CUDNN_TYPE_INT64:
    case CUDNN_TYPE_DOUBLE:
      return 8;
    default:  // float, int32 and the enumerations
      return 4;
  }
}

struct Registry {
  std::mutex mutex;
  std::map<const void*, std::shared_ptr<Descriptor>> all;
};

Registry& registry() {
  static auto* const one = new Registry();
  return *one;
}

std::string& last_error() {
  static thread_local std::string text;
  return text;
}

// Stores the descriptors of `handles`, which must be finalised, in the attribute.
cudnnStatus_t refer(Attribute& attribute, const void* const* handles) {
  for (std::int64_t i = 0; i < attribute.count; ++i) {
    const auto found = find_descriptor(handles[i]);
    if (found == nullptr)
      return refused(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "an attribute that is no descriptor");
    if (!found->is_final)
      return refused(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, "an attribute that is not finalised");
    attribute.descriptors.push_back(found);
  }
  return CUDNN_STATUS_SUCCESS;
}

// Copies the attribute's descriptors into those that the caller created.
cudnnStatus_t hand_over(const Attribute& attribute, std::int64_t wanted, void* const* handles) {
  for (std::int64_t i = 0; i < std::min(wanted, attribute.count); ++i) {
    const auto from = attribute.descriptors[static_cast<std::size_t>(i)].lock();
    const auto to = find_descriptor(handles[i]);
    if (from == nullptr) return refused(CUDNN_STATUS_BAD_PARAM, "a descriptor that was destroyed");
    if (to == nullptr || to->type != from->type)
      return refused(CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE, "a place of another type");
    *to = *from;
  }
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t set(Descriptor& descriptor, cudnnBackendAttributeName_t name,
                  cudnnBackendAttributeType_t type, std::int64_t count, const void* values) {
  if (descriptor.is_final)
    return refused(CUDNN_STATUS_BAD_PARAM, "an attribute is set after the descriptor is final");
  const AttributeRow* row = row_of(descriptor.type, name);
  if (row == nullptr || row->when == kAfter)
    return refused(CUDNN_STATUS_BAD_PARAM, "an attribute that this descriptor does not take");
  if (row->type != type)
    return refused(CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE, "an attribute of another type");
  if (count < 1 || count > row->most)
    return refused(CUDNN_STATUS_BAD_PARAM, "an attribute of too few or too many elements");
  if (values == nullptr) return refused(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "no values");
  Attribute attribute = {type, count, {}, {}};
  const auto* bytes = static_cast<const std::byte*>(values);
  attribute.bytes.assign(bytes, bytes + static_cast<std::size_t>(count) * size_of(type));
  if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    const auto status = refer(attribute, static_cast<const void* const*>(values));
    if (status != CUDNN_STATUS_SUCCESS) return status;
  }
  descriptor.attributes[name] = std::move(attribute);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t get(const Descriptor& descriptor, cudnnBackendAttributeName_t name,
                  cudnnBackendAttributeType_t type, std::int64_t wanted, std::int64_t* count,
                  void* values) {
  if (!descriptor.is_final)
    return refused(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, "a descriptor that is not final is read");
  const AttributeRow* row = row_of(descriptor.type, name);
  if (row == nullptr)
    return refused(CUDNN_STATUS_BAD_PARAM, "an attribute that this descriptor does not have");
  if (row->type != type)
    return refused(CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE, "an attribute of another type");
  const auto found = descriptor.attributes.find(name);
  const Attribute none = {type, 0, {}, {}};
  const Attribute& attribute = found == descriptor.attributes.end() ? none : found->second;
  if (count != nullptr) *count = attribute.count;
  if (wanted == 0) return CUDNN_STATUS_SUCCESS;
  if (values == nullptr) return refused(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "no place");
  if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR)
    return hand_over(attribute, wanted, static_cast<void* const*>(values));
  const std::size_t bytes =
      static_cast<std::size_t>(std::max<std::int64_t>(wanted, 0)) * size_of(type);
  if (!attribute.bytes.empty())
    std::memcpy(values, attribute.bytes.data(), std::min(bytes, attribute.bytes.size()));
  return CUDNN_STATUS_SUCCESS;
}

bool is_known(cudnnBackendDescriptorType_t type) {
  return std::ranges::any_of(kAttributes, [&](const AttributeRow& row) { return row.of == type; });
}

cudnnStatus_t make_final(Descriptor& descriptor) {
  if (descriptor.is_final) return refused(CUDNN_STATUS_BAD_PARAM, "finalised twice");
  for (const AttributeRow& row : kAttributes) {
    if (row.of == descriptor.type && row.when == kRequired && !descriptor.has(row.name))
      return refused(CUDNN_STATUS_BAD_PARAM, "an attribute that must be set is not");
  }
  const cudnnStatus_t status = finalize(descriptor);
  descriptor.is_final = status == CUDNN_STATUS_SUCCESS;
  return status;
}

}  // namespace

std::shared_ptr<const Descriptor> Descriptor::descriptor(cudnnBackendAttributeName_t name) const {
  const auto found = attributes.find(name);
  if (found == attributes.end() || found->second.descriptors.empty()) return nullptr;
  return found->second.descriptors.front().lock();
}

void Descriptor::put(cudnnBackendAttributeName_t name, std::shared_ptr<const Descriptor> made) {
  Attribute& attribute = attributes[name];
  attribute.type = CUDNN_TYPE_BACKEND_DESCRIPTOR;
  ++attribute.count;
  attribute.descriptors.push_back(made);
  owned.push_back(std::move(made));
}

cudnnStatus_t refused(cudnnStatus_t status, const char* why) {
  last_error() = why;
  return status;
}

std::shared_ptr<Descriptor> find_descriptor(const void* handle) {
  const std::scoped_lock lock(registry().mutex);
  const auto found = registry().all.find(handle);
  return found == registry().all.end() ? nullptr : found->second;
}

}  // namespace detol::emulated

using namespace detol::emulated;

extern "C" {

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type,
                                           cudnnBackendDescriptor_t* handle) {
  if (!is_known(type)) return refused(CUDNN_STATUS_NOT_SUPPORTED, "a type that is not emulated");
  auto made = std::make_shared<Descriptor>();
  made->type = type;
  *handle = made.get();
  const std::scoped_lock lock(registry().mutex);
  registry().all.emplace(*handle, std::move(made));
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t handle) {
  const std::scoped_lock lock(registry().mutex);
  return registry().all.erase(handle) == 1
             ? CUDNN_STATUS_SUCCESS
             : refused(CUDNN_STATUS_BAD_PARAM, "a descriptor that is not there is destroyed");
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t handle,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, std::int64_t count,
                                       const void* values) {
  const auto descriptor = find_descriptor(handle);
  return descriptor != nullptr ? set(*descriptor, name, type, count, values)
                               : refused(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "no descriptor");
}

cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t const handle,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, std::int64_t wanted,
                                       std::int64_t* count, void* values) {
  const auto descriptor = find_descriptor(handle);
  return descriptor != nullptr ? get(*descriptor, name, type, wanted, count, values)
                               : refused(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "no descriptor");
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t handle) {
  const auto descriptor = find_descriptor(handle);
  return descriptor != nullptr ? make_final(*descriptor)
                               : refused(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "no descriptor");
}

void cudnnGetLastErrorString(char* message, std::size_t bytes) {
  const std::string& text = last_error();
  if (bytes > 0) message[text.copy(message, bytes - 1)] = '\0';
}

}  // extern "C"
