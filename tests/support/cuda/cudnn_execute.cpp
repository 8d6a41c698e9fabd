// Handles of the emulated cuDNN, and running a plan.

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

#include <cudnn.h>

#include "tests/support/cuda/cudnn_engines.h"
#include "tests/support/cuda/memory.h"
#include "tests/support/cuda/state.h"
#include "tests/support/cuda/streams.h"

namespace detol::emulated {
namespace {

struct Bound {
  void *x = nullptr, *w = nullptr, *y = nullptr, *workspace = nullptr;
};

struct Tensor {
  std::int64_t name = 0, alignment = 1;
  std::int64_t bytes = 0;
  void** pointer = nullptr;
};

bool overlap(const Tensor& a, const Tensor& b) {
  const auto* first = static_cast<const std::byte*>(*a.pointer);
  const auto* second = static_cast<const std::byte*>(*b.pointer);
  return first < second + b.bytes && second < first + a.bytes;
}

// Finds the tensor's pointer in the pack, and checks it against the declaration.
cudnnStatus_t bind_one(const Descriptor& pack, const Tensor& tensor) {
  const auto names = pack.all<std::int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  const auto found = std::ranges::find(names, tensor.name);
  if (found == names.end())
    return refused(CUDNN_STATUS_BAD_PARAM, "a pack that lacks a tensor of the graph");
  *tensor.pointer = pack.all<void*>(
      CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS)[static_cast<std::size_t>(found - names.begin())];
  if (reinterpret_cast<std::uintptr_t>(*tensor.pointer) %
          static_cast<std::uintptr_t>(tensor.alignment) !=
      0)
    return refused(CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER, "a pointer that is not aligned");
  if (!is_for_device(*tensor.pointer, static_cast<std::size_t>(tensor.bytes)))
    return refused(CUDNN_STATUS_BAD_PARAM, "a tensor that leaves the memory it is in");
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t bind(const Operation& operation, const Descriptor& pack, std::int64_t workspace,
                   Bound& to) {
  const Convolution& c = operation.convolution;
  const std::int64_t size = c.type == Number::kFloat ? 4 : 2;
  const std::array tensors = {
      Tensor{operation.x, operation.x_alignment, size * c.x_elements(), &to.x},
      Tensor{operation.w, operation.w_alignment, size * c.w_elements(), &to.w},
      Tensor{operation.y, operation.y_alignment, size * c.y_elements(), &to.y}};
  for (const Tensor& tensor : tensors) {
    const cudnnStatus_t status = bind_one(pack, tensor);
    if (status != CUDNN_STATUS_SUCCESS) return status;
  }
  const Tensor& written = tensors[c.direction == Direction::kForward ? 2
                                  : c.direction == Direction::kData  ? 0
                                                                     : 1];
  for (const Tensor& tensor : tensors) {
    if (&tensor != &written && overlap(tensor, written))
      return refused(CUDNN_STATUS_BAD_PARAM, "a result that lies on its input");
  }
  if (workspace == 0) return CUDNN_STATUS_SUCCESS;
  if (pack.has(CUDNN_ATTR_VARIANT_PACK_WORKSPACE))
    to.workspace = pack.one<void*>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
  const Tensor scratch = {0, 1, workspace, &to.workspace};
  const bool is_free =
      std::ranges::none_of(tensors, [&](const Tensor& tensor) { return overlap(tensor, scratch); });
  return is_for_device(to.workspace, static_cast<std::size_t>(workspace)) && is_free
             ? CUDNN_STATUS_SUCCESS
             : refused(CUDNN_STATUS_BAD_PARAM, "a workspace that is too small, or in use");
}

// Leaves garbage in the workspace, and, if the engine is nondeterministic, another last bit in
// every second result.
void run(const Convolution& convolution, const EngineRow& engine, const Bound& bound) {
  if (!may_run()) return;
  if (bound.workspace != nullptr)
    std::memset(bound.workspace, 0xfe, static_cast<std::size_t>(engine.workspace));
  convolve(convolution, bound.x, bound.w, bound.y);
  const bool varies = std::ranges::find(engine.numbers, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC) !=
                      engine.numbers.end();
  static std::atomic<unsigned> times = 0;
  if (!varies || ++times % 2 == 0 || convolution.type != Number::kFloat) return;
  void* const written = convolution.direction == Direction::kForward ? bound.y
                        : convolution.direction == Direction::kData  ? bound.x
                                                                     : bound.w;
  static_cast<float*>(written)[0] *= 1.0000002F;
}

cudnnStatus_t execute(const cudnnContext& handle, const Descriptor& plan, const Descriptor& pack) {
  if (plan.type != CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR ||
      pack.type != CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR)
    return refused(CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE, "no plan, or no pack");
  if (!plan.is_final || !pack.is_final)
    return refused(CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED, "a plan or pack that is not final");
  const Descriptor& config = *plan.owned[0];
  const Descriptor& engine = *plan.owned[1];
  const auto graph = engine.descriptor(CUDNN_ATTR_ENGINE_OPERATION_GRAPH);
  if (graph == nullptr) return refused(CUDNN_STATUS_BAD_PARAM, "a plan whose graph is gone");
  cudnnStatus_t status = CUDNN_STATUS_SUCCESS;
  const auto operation = operation_of(*graph, status);
  if (operation == nullptr) return status;
  const EngineRow& row = *find_engine(engine.one<std::int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX));
  Bound bound;
  status = bind(*operation, pack, row.workspace, bound);
  if (status != CUDNN_STATUS_SUCCESS) return status;
  Convolution convolution = operation->convolution;
  convolution.rounds_inputs = row.index == 34;
  const auto knob = config.descriptor(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES);
  convolution.sums_in_single =
      row.sums_in_single ||
      (knob != nullptr &&
       knob->one<std::int64_t>(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE) == row.tiles.back());
  if (enqueue(handle.stream, [convolution, &row, bound] { run(convolution, row, bound); }) !=
      cudaSuccess)
    return refused(CUDNN_STATUS_EXECUTION_FAILED_CUDA_DRIVER, "the stream takes no work");
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace
}  // namespace detol::emulated

using namespace detol::emulated;

extern "C" {

std::size_t cudnnGetVersion() {
  return CUDNN_VERSION;
}

std::size_t cudnnGetCudartVersion() {
  return CUDART_VERSION;
}

const char* cudnnGetErrorString(cudnnStatus_t status) {
  switch (CUDNN_STATUS_CATEGORY(status)) {
    case CUDNN_STATUS_SUCCESS:
      return "CUDNN_STATUS_SUCCESS";
    case CUDNN_STATUS_BAD_PARAM:
      return "CUDNN_STATUS_BAD_PARAM";
    case CUDNN_STATUS_NOT_SUPPORTED:
      return "CUDNN_STATUS_NOT_SUPPORTED";
    case CUDNN_STATUS_EXECUTION_FAILED:
      return "CUDNN_STATUS_EXECUTION_FAILED";
    default:
      return "CUDNN_STATUS_INTERNAL_ERROR";
  }
}

cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  if (entered() != cudaSuccess)
    return refused(CUDNN_STATUS_NOT_INITIALIZED, "the device is not to be used");
  *handle = new cudnnContext();
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  delete handle;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  if (handle == nullptr) return refused(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "no handle");
  handle->stream = stream;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetStream(cudnnHandle_t handle, cudaStream_t* stream) {
  *stream = handle->stream;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                                  cudnnBackendDescriptor_t pack) {
  if (entered() != cudaSuccess)
    return refused(CUDNN_STATUS_EXECUTION_FAILED_CUDA_DRIVER, "the device is broken");
  const auto found_plan = find_descriptor(plan), found_pack = find_descriptor(pack);
  if (handle == nullptr || found_plan == nullptr || found_pack == nullptr)
    return refused(CUDNN_STATUS_BAD_PARAM_NULL_POINTER, "no handle, plan or pack");
  return execute(*handle, *found_plan, *found_pack);
}

}  // extern "C"
