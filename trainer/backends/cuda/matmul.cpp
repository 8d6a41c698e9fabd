// Matrices of cuBLASLt are column-major: a row-major c = a b is its c' = b' a', so a and b change
// places and nothing is transposed.

#include "trainer/backends/cuda/matmul.h"

#include <fmt/format.h>

#include <cublasLt.h>

#include "trainer/backends/cuda/device.h"

namespace detol::inline trainer::cuda {
namespace {

constexpr std::uint32_t kMatmulAlignment = 16;  // bytes, of every tensor and weight

void check_blas(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  if (status == CUBLAS_STATUS_ALLOC_FAILED) throw std::bad_alloc();
  throw DeviceError(fmt::format("cuda: cuBLASLt, {}: status {}", what, static_cast<int>(status)));
}

cudaDataType_t cublas_type(Type type) {
  return type == Type::kFloat ? CUDA_R_32F : CUDA_R_16BF;
}

// Returns cuBLASLt's layout of a row-major matrix: column-major with rows and columns swapped.
cublasLtMatrixLayout_t layout_of(Type type, std::int64_t rows, std::int64_t columns,
                                 std::int64_t count) {
  cublasLtMatrixLayout_t layout = nullptr;
  check_blas(
      cublasLtMatrixLayoutCreate(&layout, cublas_type(type), static_cast<std::uint64_t>(columns),
                                 static_cast<std::uint64_t>(rows), columns),
      "a matrix");
  const auto matrices = static_cast<std::int32_t>(count);
  const std::int64_t stride = rows * columns;
  const auto set = [&](cublasLtMatrixLayoutAttribute_t which, const auto& value) {
    check_blas(cublasLtMatrixLayoutSetAttribute(layout, which, &value, sizeof(value)), "a batch");
  };
  set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, matrices);
  set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, stride);
  return layout;
}

}  // namespace

struct Matmul::Descriptors {
  cublasLtMatmulDesc_t product = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, c = nullptr;
  cublasLtMatmulHeuristicResult_t chosen{};
  ~Descriptors() {
    for (cublasLtMatrixLayout_t layout : {a, b, c}) {
      if (layout != nullptr) cublasLtMatrixLayoutDestroy(layout);
    }
    if (product != nullptr) cublasLtMatmulDescDestroy(product);
  }
};

Matmul::Matmul(const MatmulShape& s, std::size_t most_scratch)
    : descriptors_(std::make_unique<Descriptors>()) {
  Descriptors& descriptors = *descriptors_;
  descriptors.a = s.a_transposed ? layout_of(s.type, s.inner, s.rows, s.count)
                                 : layout_of(s.type, s.rows, s.inner, s.count);
  descriptors.b = s.b_transposed ? layout_of(s.type, s.columns, s.inner, s.count)
                                 : layout_of(s.type, s.inner, s.columns, s.count);
  descriptors.c = layout_of(s.result, s.rows, s.columns, s.count);
  const auto compute = s.tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
  check_blas(cublasLtMatmulDescCreate(&descriptors.product, compute, CUDA_R_32F), "a product");
  const auto transpose = [&](cublasLtMatmulDescAttributes_t which, bool transposed) {
    const cublasOperation_t operation = transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    check_blas(
        cublasLtMatmulDescSetAttribute(descriptors.product, which, &operation, sizeof(operation)),
        "transposing");
  };
  transpose(CUBLASLT_MATMUL_DESC_TRANSA, s.b_transposed);
  transpose(CUBLASLT_MATMUL_DESC_TRANSB, s.a_transposed);
  cublasLtMatmulPreference_t preference = nullptr;
  check_blas(cublasLtMatmulPreferenceCreate(&preference), "a preference");
  const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t which, const auto& value) {
    check_blas(cublasLtMatmulPreferenceSetAttribute(preference, which, &value, sizeof(value)),
               "a preference");
  };
  prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, most_scratch);
  for (const auto which :
       {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES})
    prefer(which, kMatmulAlignment);
  int found = 0;
  const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
      device().cublas, descriptors.product, descriptors.b, descriptors.a, descriptors.c,
      descriptors.c, preference, 1, &descriptors.chosen, &found);
  cublasLtMatmulPreferenceDestroy(preference);
  check_blas(status, "choosing an algorithm");
  if (found == 0)
    throw DeviceError(fmt::format("cuda: cuBLASLt has no algorithm for {} x {} x {}", s.rows,
                                  s.columns, s.inner));
}

Matmul::~Matmul() = default;
Matmul::Matmul(Matmul&&) noexcept = default;
Matmul& Matmul::operator=(Matmul&&) noexcept = default;

std::size_t Matmul::scratch_bytes() const {
  return descriptors_->chosen.workspaceSize;
}

void Matmul::run(const void* a, const void* b, void* c, void* scratch, Stream stream) const {
  const float one = 1, zero = 0;
  const Descriptors& descriptors = *descriptors_;
  check_blas(cublasLtMatmul(device().cublas, descriptors.product, &one, b, descriptors.b, a,
                            descriptors.a, &zero, c, descriptors.c, c, descriptors.c,
                            &descriptors.chosen.algo, scratch, scratch_bytes(), stream),
             "a product");
}

}  // namespace detol::inline trainer::cuda
