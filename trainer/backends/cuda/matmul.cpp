// cuBLASLt counts columns first: a row-major c = a b is, there, c' = b' a', so that the two change
// places and nothing is transposed.

#include "trainer/backends/cuda/matmul.h"

#include <fmt/format.h>

#include <cublasLt.h>

#include "trainer/backends/cuda/device.h"

namespace detol::cuda {
namespace {

constexpr std::uint32_t kAlignment = 16;  // bytes, of every tensor and weight

void check_blas(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  if (status == CUBLAS_STATUS_ALLOC_FAILED) throw std::bad_alloc();
  throw DeviceError(fmt::format("cuda: cuBLASLt, {}: status {}", what, static_cast<int>(status)));
}

cudaDataType_t cublas_type(Type type) {
  return type == Type::kFloat ? CUDA_R_32F : CUDA_R_16BF;
}

// Of a row-major matrix of so many rows, as cuBLASLt sees it.
cublasLtMatrixLayout_t layout_of(Type type, std::int64_t rows, std::int64_t columns) {
  cublasLtMatrixLayout_t layout = nullptr;
  check_blas(
      cublasLtMatrixLayoutCreate(&layout, cublas_type(type), static_cast<std::uint64_t>(columns),
                                 static_cast<std::uint64_t>(rows), columns),
      "a matrix");
  return layout;
}

}  // namespace

struct Matmul::Parts {
  cublasLtMatmulDesc_t product = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, c = nullptr;
  cublasLtMatmulHeuristicResult_t chosen{};
  ~Parts() {
    for (cublasLtMatrixLayout_t layout : {a, b, c}) {
      if (layout != nullptr) cublasLtMatrixLayoutDestroy(layout);
    }
    if (product != nullptr) cublasLtMatmulDescDestroy(product);
  }
};

Matmul::Matmul(const MatmulShape& s, std::size_t most_scratch) : parts_(std::make_unique<Parts>()) {
  Parts& parts = *parts_;
  parts.a =
      s.a_transposed ? layout_of(s.type, s.inner, s.rows) : layout_of(s.type, s.rows, s.inner);
  parts.b = s.b_transposed ? layout_of(s.type, s.columns, s.inner)
                           : layout_of(s.type, s.inner, s.columns);
  parts.c = layout_of(s.result, s.rows, s.columns);
  const auto compute = s.tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
  check_blas(cublasLtMatmulDescCreate(&parts.product, compute, CUDA_R_32F), "a product");
  const auto transpose = [&](cublasLtMatmulDescAttributes_t which, bool transposed) {
    const cublasOperation_t operation = transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    check_blas(cublasLtMatmulDescSetAttribute(parts.product, which, &operation, sizeof(operation)),
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
    prefer(which, kAlignment);
  int found = 0;
  const cublasStatus_t status =
      cublasLtMatmulAlgoGetHeuristic(device().cublas, parts.product, parts.b, parts.a, parts.c,
                                     parts.c, preference, 1, &parts.chosen, &found);
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
  return parts_->chosen.workspaceSize;
}

void Matmul::run(const void* a, const void* b, void* c, void* scratch, Stream stream) const {
  const float one = 1, zero = 0;
  const Parts& parts = *parts_;
  check_blas(
      cublasLtMatmul(device().cublas, parts.product, &one, b, parts.b, a, parts.a, &zero, c,
                     parts.c, c, parts.c, &parts.chosen.algo, scratch, scratch_bytes(), stream),
      "a product");
}

}  // namespace detol::cuda
