#pragma once

// Product: what the emulated cuBLASLt computes, D = alpha op(A) op(B) + beta C, maybe plus a bias
// per row, by plain loops, for each matrix of a batch. Matrices are column-major.

#include <cstddef>
#include <cstdint>

#include <cublasLt.h>

namespace detol::emulated {

inline constexpr std::uint64_t kProduct = 0x70726f64, kLayout = 0x6c61796f;

// Product and Layout are the contents of the opaque structs of cublasLt.h.
struct Product {
  std::uint64_t magic = kProduct;
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
  cudaDataType scale = CUDA_R_32F;
  std::int32_t transposes_a = CUBLAS_OP_N, transposes_b = CUBLAS_OP_N;
  std::uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  std::int32_t bias_type = -1;  // -1: as D
  const void* bias = nullptr;
};

struct Layout {
  std::uint64_t magic = kLayout;
  cudaDataType type = CUDA_R_32F;
  std::uint64_t rows = 0, columns = 0;
  std::int64_t leading = 0;
  std::int32_t count = 1;  // matrices, `stride` elements apart
  std::int64_t stride = 0;
};

struct Sizes {
  std::uint64_t rows = 0, columns = 0, inner = 0;  // m, n, k
};

// Task: one product with its matrices, and the checks of what cuBLASLt takes.
struct Task {
  Product product;
  Layout a, b, c, d;
  Sizes sizes;

  bool is_right() const {
    const auto rows = [](const Layout& l, std::int32_t op) {
      return op == CUBLAS_OP_N ? l.rows : l.columns;
    };
    const auto columns = [](const Layout& l, std::int32_t op) {
      return op == CUBLAS_OP_N ? l.columns : l.rows;
    };
    return rows(a, product.transposes_a) == sizes.rows &&
           columns(a, product.transposes_a) == sizes.inner &&
           rows(b, product.transposes_b) == sizes.inner &&
           columns(b, product.transposes_b) == sizes.columns && c.rows == sizes.rows &&
           c.columns == sizes.columns && d.rows == sizes.rows && d.columns == sizes.columns &&
           b.count == a.count && c.count == a.count && d.count == a.count;
  }

  bool is_supported() const {
    const bool types = a.type == b.type && c.type == d.type &&
                       (a.type == CUDA_R_32F ? d.type == CUDA_R_32F : a.type == CUDA_R_16BF);
    const bool computes = product.compute == CUBLAS_COMPUTE_32F ||
                          (product.compute == CUBLAS_COMPUTE_32F_FAST_TF32 && a.type == CUDA_R_32F);
    const bool epilogue =
        product.epilogue == CUBLASLT_EPILOGUE_DEFAULT || product.epilogue == CUBLASLT_EPILOGUE_BIAS;
    return types && computes && epilogue && product.scale == CUDA_R_32F;
  }

  std::uint32_t types() const {
    return static_cast<std::uint32_t>(a.type) | static_cast<std::uint32_t>(d.type) << 8 |
           static_cast<std::uint32_t>(product.transposes_a) << 16 |
           static_cast<std::uint32_t>(product.transposes_b) << 20 |
           static_cast<std::uint32_t>(product.compute == CUBLAS_COMPUTE_32F) << 24;
  }

  bool rounds() const { return product.compute == CUBLAS_COMPUTE_32F_FAST_TF32; }
};

struct Operands {
  float alpha = 1, beta = 0;
  const void *a = nullptr, *b = nullptr, *c = nullptr;
  void* d = nullptr;
};

std::size_t size_of(cudaDataType type);  // bytes; 0: not emulated

// Computes D, unless the device is broken.
void multiply(const Task& task, const Operands& on);

}  // namespace detol::emulated
