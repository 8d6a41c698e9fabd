// The emulated cuBLASLt. An algorithm is accepted only for the sizes, types and alignments that the
// heuristic was asked for.

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include <cublasLt.h>

#include "tests/support/cuda/memory.h"
#include "tests/support/cuda/product.h"
#include "tests/support/cuda/state.h"
#include "tests/support/cuda/streams.h"

struct cublasLtContext {};

namespace detol::emulated {
namespace {

constexpr std::uint64_t kPreference = 0x70726566, kAlgorithm = 0x616c676f;

struct Preference {
  std::uint64_t magic = kPreference;
  std::uint64_t workspace = 0;
  std::array<std::uint32_t, 4> alignments = {256, 256, 256, 256};  // of A, B, C and D
};

struct Algorithm {
  std::uint64_t magic = kAlgorithm;
  std::uint64_t workspace = 0;
  std::uint32_t rows = 0, columns = 0, inner = 0, types = 0, count = 0;
  std::array<std::uint32_t, 4> alignments = {};
};
static_assert(sizeof(Product) <= sizeof(cublasLtMatmulDescOpaque_t));
static_assert(sizeof(Layout) <= sizeof(cublasLtMatrixLayoutOpaque_t));
static_assert(sizeof(Preference) <= sizeof(cublasLtMatmulPreferenceOpaque_t));
static_assert(sizeof(Algorithm) <= sizeof(cublasLtMatmulAlgo_t));

// Returns null if the opaque struct does not hold an `Is`.
template <typename Is, typename Opaque>
Is* as(Opaque* opaque) {
  auto* is = reinterpret_cast<Is*>(opaque);
  return is != nullptr && is->magic == Is().magic ? is : nullptr;
}

template <typename Is, typename Opaque>
cublasStatus_t init(Opaque* opaque, std::size_t bytes, const Is& value) {
  if (opaque == nullptr || bytes < sizeof(Is)) return CUBLAS_STATUS_ALLOC_FAILED;
  std::memset(static_cast<void*>(opaque), 0, bytes);
  std::memcpy(static_cast<void*>(opaque), &value, sizeof(Is));
  return CUBLAS_STATUS_SUCCESS;
}

template <typename Is, typename Opaque>
cublasStatus_t destroy(Opaque* opaque) {
  if (as<Is>(opaque) == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  delete opaque;
  return CUBLAS_STATUS_SUCCESS;
}

template <typename Value>
cublasStatus_t put(Value& to, const void* from, std::size_t bytes) {
  if (from == nullptr || bytes != sizeof(Value)) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(static_cast<void*>(&to), from, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t make_task(cublasLtMatmulDesc_t product, cublasLtMatrixLayout_t a,
                         cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c,
                         cublasLtMatrixLayout_t d, Task& task) {
  const auto* const is = as<Product>(product);
  const std::array layouts = {as<Layout>(a), as<Layout>(b), as<Layout>(c), as<Layout>(d)};
  if (is == nullptr || std::ranges::find(layouts, nullptr) != layouts.end())
    return CUBLAS_STATUS_INVALID_VALUE;
  task = {*is, *layouts[0], *layouts[1], *layouts[2], *layouts[3], {}};
  task.sizes = {task.d.rows, task.d.columns,
                is->transposes_a == CUBLAS_OP_N ? task.a.columns : task.a.rows};
  if (!task.is_right()) return CUBLAS_STATUS_INVALID_VALUE;
  return task.is_supported() ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

std::size_t bytes_of(const Layout& layout) {
  const auto before = static_cast<std::size_t>((layout.count - 1) * layout.stride);
  return (before + (layout.columns - 1) * static_cast<std::size_t>(layout.leading) + layout.rows) *
         size_of(layout.type);
}

bool is_aligned(const void* pointer, std::uint32_t to) {
  return reinterpret_cast<std::uintptr_t>(pointer) % to == 0;
}

// Returns null if nothing is. cuBLASLt has no text for its errors: refused() prints it on stderr.
const char* what_is_wrong(const Task& task, const Operands& on, const Algorithm& algorithm) {
  const auto& [a, b, c, d] = algorithm.alignments;
  if (!is_aligned(on.a, a) || !is_aligned(on.b, b) || !is_aligned(on.c, c) || !is_aligned(on.d, d))
    return "a pointer is less aligned than the algorithm was told";
  if (!is_for_device(on.a, bytes_of(task.a)) || !is_for_device(on.b, bytes_of(task.b)) ||
      !is_for_device(on.d, bytes_of(task.d)) ||
      (on.beta != 0 && !is_for_device(on.c, bytes_of(task.c))))
    return "a matrix leaves the memory that it is in";
  if (task.product.epilogue == CUBLASLT_EPILOGUE_BIAS &&
      !is_for_device(task.product.bias, task.sizes.rows * size_of(task.d.type)))
    return "the bias leaves the memory that it is in";
  return on.d == on.a || on.d == on.b ? "the result lies on an operand" : nullptr;
}

cublasStatus_t refused(const char* why) {
  std::fprintf(stderr, "emulated cuBLASLt: %s\n", why);
  return CUBLAS_STATUS_INVALID_VALUE;
}

bool is_for(const Algorithm& algorithm, const Task& task) {
  return algorithm.rows == task.sizes.rows && algorithm.columns == task.sizes.columns &&
         algorithm.inner == task.sizes.inner && algorithm.types == task.types() &&
         algorithm.count == static_cast<std::uint32_t>(task.d.count);
}

Algorithm algorithm_for(const Task& task, const Preference& preference, std::uint64_t workspace) {
  return {.workspace = workspace,
          .rows = static_cast<std::uint32_t>(task.sizes.rows),
          .columns = static_cast<std::uint32_t>(task.sizes.columns),
          .inner = static_cast<std::uint32_t>(task.sizes.inner),
          .types = task.types(),
          .count = static_cast<std::uint32_t>(task.d.count),
          .alignments = preference.alignments};
}

bool is_layout(cudaDataType type, std::uint64_t rows, std::uint64_t columns, std::int64_t leading) {
  return size_of(type) != 0 && rows > 0 && columns > 0 &&
         leading >= static_cast<std::int64_t>(rows);
}

}  // namespace
}  // namespace detol::emulated

using namespace detol::emulated;

extern "C" {

std::size_t cublasLtGetVersion() {
  return CUBLAS_VERSION;
}

std::size_t cublasLtGetCudartVersion() {
  return CUDART_VERSION;
}

const char* cublasLtGetStatusString(cublasStatus_t status) {
  return status == CUBLAS_STATUS_SUCCESS ? "CUBLAS_STATUS_SUCCESS" : "CUBLAS_STATUS_...";
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  if (entered() != cudaSuccess) return CUBLAS_STATUS_NOT_INITIALIZED;
  *handle = new cublasLtContext();
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescInit_internal(cublasLtMatmulDesc_t product, std::size_t bytes,
                                               cublasComputeType_t compute, cudaDataType_t scale) {
  Product made;
  made.compute = compute;
  made.scale = scale;
  return init(product, bytes, made);
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* product, cublasComputeType_t compute,
                                        cudaDataType_t scale) {
  *product = new cublasLtMatmulDescOpaque_t;
  return cublasLtMatmulDescInit_internal(*product, sizeof(**product), compute, scale);
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t product) {
  return destroy<Product>(product);
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t product,
                                              cublasLtMatmulDescAttributes_t attribute,
                                              const void* from, std::size_t bytes) {
  auto* const to = as<Product>(product);
  if (to == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  switch (attribute) {
    case CUBLASLT_MATMUL_DESC_TRANSA:
      return put(to->transposes_a, from, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSB:
      return put(to->transposes_b, from, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
      return put(to->epilogue, from, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
      return put(to->bias, from, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE:
      return put(to->bias_type, from, bytes);
    default:
      return CUBLAS_STATUS_NOT_SUPPORTED;
  }
}

cublasStatus_t cublasLtMatrixLayoutInit_internal(cublasLtMatrixLayout_t layout, std::size_t bytes,
                                                 cudaDataType type, std::uint64_t rows,
                                                 std::uint64_t columns, std::int64_t leading) {
  if (!is_layout(type, rows, columns, leading)) return CUBLAS_STATUS_INVALID_VALUE;
  Layout made;
  made.type = type;
  made.rows = rows;
  made.columns = columns;
  made.leading = leading;
  return init(layout, bytes, made);
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type,
                                          std::uint64_t rows, std::uint64_t columns,
                                          std::int64_t leading) {
  if (!is_layout(type, rows, columns, leading)) return CUBLAS_STATUS_INVALID_VALUE;
  *layout = new cublasLtMatrixLayoutOpaque_t;
  return cublasLtMatrixLayoutInit_internal(*layout, sizeof(**layout), type, rows, columns, leading);
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  return destroy<Layout>(layout);
}

cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attribute,
                                                const void* from, std::size_t bytes) {
  auto* const to = as<Layout>(layout);
  if (to == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  switch (attribute) {
    case CUBLASLT_MATRIX_LAYOUT_LD:
      return put(to->leading, from, bytes);
    case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT:
      return put(to->count, from, bytes);
    case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET:
      return put(to->stride, from, bytes);
    default:
      return CUBLAS_STATUS_NOT_SUPPORTED;
  }
}

cublasStatus_t cublasLtMatmulPreferenceInit_internal(cublasLtMatmulPreference_t preference,
                                                     std::size_t bytes) {
  return init(preference, bytes, Preference());
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  *preference = new cublasLtMatmulPreferenceOpaque_t;
  return cublasLtMatmulPreferenceInit_internal(*preference, sizeof(**preference));
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  return destroy<Preference>(preference);
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void* from, std::size_t bytes) {
  auto* const to = as<Preference>(preference);
  if (to == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  switch (attribute) {
    case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES:
      return put(to->workspace, from, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES:
      return put(to->alignments[0], from, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES:
      return put(to->alignments[1], from, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES:
      return put(to->alignments[2], from, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES:
      return put(to->alignments[3], from, bytes);
    default:
      return CUBLAS_STATUS_NOT_SUPPORTED;
  }
}

// The first result needs a little workspace, if `preference` allows it.
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t product,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int wanted,
                                              cublasLtMatmulHeuristicResult_t* results,
                                              int* count) {
  constexpr std::uint64_t kWorkspace = 1024;
  Task task;
  const auto* const prefers = as<Preference>(preference);
  if (handle == nullptr || prefers == nullptr || wanted < 1 || results == nullptr)
    return CUBLAS_STATUS_INVALID_VALUE;
  *count = 0;
  if (const cublasStatus_t status = make_task(product, a, b, c, d, task)) return status;
  for (const std::uint64_t workspace : {kWorkspace, std::uint64_t{0}}) {
    if (*count == wanted || workspace > prefers->workspace) continue;
    cublasLtMatmulHeuristicResult_t& result = results[(*count)++];
    result = {};
    const Algorithm algorithm = algorithm_for(task, *prefers, workspace);
    init(&result.algo, sizeof result.algo, algorithm);
    result.workspaceSize = workspace;
    result.state = CUBLAS_STATUS_SUCCESS;
    result.wavesCount = 1;
  }
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t product,
                              const void* alpha, const void* a, cublasLtMatrixLayout_t a_is,
                              const void* b, cublasLtMatrixLayout_t b_is, const void* beta,
                              const void* c, cublasLtMatrixLayout_t c_is, void* d,
                              cublasLtMatrixLayout_t d_is, const cublasLtMatmulAlgo_t* algo,
                              void* workspace, std::size_t bytes, cudaStream_t stream) {
  if (entered() != cudaSuccess) return CUBLAS_STATUS_EXECUTION_FAILED;
  Task task;
  if (const cublasStatus_t status = make_task(product, a_is, b_is, c_is, d_is, task)) return status;
  const auto* const algorithm = as<const Algorithm>(algo);
  if (handle == nullptr || alpha == nullptr || beta == nullptr || algorithm == nullptr)
    return CUBLAS_STATUS_INVALID_VALUE;
  const Operands on = {
      *static_cast<const float*>(alpha), *static_cast<const float*>(beta), a, b, c, d};
  if (!is_for(*algorithm, task)) return refused("the algorithm is for other matrices");
  if (const char* why = what_is_wrong(task, on, *algorithm)) return refused(why);
  if (algorithm->workspace > 0 && (bytes < algorithm->workspace || !is_aligned(workspace, 16) ||
                                   !is_for_device(workspace, bytes)))
    return refused("the workspace is too small, or not aligned");
  const std::size_t spoilt = static_cast<std::size_t>(algorithm->workspace);
  const auto work = [task, on, workspace, spoilt] {
    if (spoilt > 0 && !is_broken()) std::memset(workspace, 0xfe, spoilt);
    multiply(task, on);
  };
  return enqueue(stream, work) == cudaSuccess ? CUBLAS_STATUS_SUCCESS
                                              : CUBLAS_STATUS_EXECUTION_FAILED;
}

}  // extern "C"
