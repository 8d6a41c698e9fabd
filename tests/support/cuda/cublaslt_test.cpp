#include <cstdint>
#include <vector>

#include <cublasLt.h>
#include <gtest/gtest.h>

#include "tests/support/cuda/emulated.h"

namespace detol::emulated {
namespace {

// Fixture for D = op(A) op(B) + bias, 2 x 3 with an inner extent of 4.
class Products : public Emulated {
 protected:
  static constexpr std::uint64_t kRows = 2, kColumns = 3, kInner = 4;

  Products() { EXPECT_EQ(cublasLtCreate(&handle_), CUBLAS_STATUS_SUCCESS); }
  ~Products() override { cublasLtDestroy(handle_); }

  static cublasLtMatrixLayoutOpaque_t layout(std::uint64_t rows, std::uint64_t columns) {
    cublasLtMatrixLayoutOpaque_t made;
    EXPECT_EQ(
        cublasLtMatrixLayoutInit(&made, CUDA_R_32F, rows, columns, static_cast<std::int64_t>(rows)),
        CUBLAS_STATUS_SUCCESS);
    return made;
  }

  cublasStatus_t find(cublasLtMatmulDescOpaque_t& product, cublasLtMatrixLayoutOpaque_t a,
                      cublasLtMatrixLayoutOpaque_t b, cublasLtMatmulHeuristicResult_t& result) {
    auto d = layout(kRows, kColumns);
    cublasLtMatmulPreferenceOpaque_t preference;
    EXPECT_EQ(cublasLtMatmulPreferenceInit(&preference), CUBLAS_STATUS_SUCCESS);
    int count = 0;
    return cublasLtMatmulAlgoGetHeuristic(handle_, &product, &a, &b, &d, &d, &preference, 1,
                                          &result, &count);
  }

  cublasLtHandle_t handle_ = nullptr;
};

TEST_F(Products, AreRightWithEveryTranspositionAndABias) {
  const std::vector<float> a = {1, 2, 3, 4, 5, 6, 7, 8};               // 2 x 4 by columns
  const std::vector<float> b = {1, 0, 2, 1, 3, 1, 0, 2, 1, 1, 1, 1};   // 4 x 3
  const std::vector<float> at = {1, 3, 5, 7, 2, 4, 6, 8};              // 4 x 2
  const std::vector<float> bt = {1, 3, 1, 0, 1, 1, 2, 0, 1, 1, 2, 1};  // 3 x 4
  const std::vector<float> wanted = {18 + 10, 22 + 20, 20 + 10, 26 + 20, 16 + 10, 20 + 20};
  const OnDevice<float> bias({10, 20});
  for (const bool a_turned : {false, true}) {
    for (const bool b_turned : {false, true}) {
      const OnDevice<float> on_a(a_turned ? at : a), on_b(b_turned ? bt : b),
          on_d(std::vector<float>(6));
      cublasLtMatmulDescOpaque_t product;
      ASSERT_EQ(cublasLtMatmulDescInit(&product, CUBLAS_COMPUTE_32F, CUDA_R_32F),
                CUBLAS_STATUS_SUCCESS);
      const auto set = [&](cublasLtMatmulDescAttributes_t name, const auto& value) {
        EXPECT_EQ(cublasLtMatmulDescSetAttribute(&product, name, &value, sizeof value),
                  CUBLAS_STATUS_SUCCESS);
      };
      set(CUBLASLT_MATMUL_DESC_TRANSA, a_turned ? CUBLAS_OP_T : CUBLAS_OP_N);
      set(CUBLASLT_MATMUL_DESC_TRANSB, b_turned ? CUBLAS_OP_T : CUBLAS_OP_N);
      set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
      set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias.data());
      auto a_is = a_turned ? layout(kInner, kRows) : layout(kRows, kInner);
      auto b_is = b_turned ? layout(kColumns, kInner) : layout(kInner, kColumns);
      auto d_is = layout(kRows, kColumns);
      cublasLtMatmulHeuristicResult_t found;
      ASSERT_EQ(find(product, a_is, b_is, found), CUBLAS_STATUS_SUCCESS);
      const float one = 1, zero = 0;
      EXPECT_EQ(
          cublasLtMatmul(handle_, &product, &one, on_a.data(), &a_is, on_b.data(), &b_is, &zero,
                         on_d.data(), &d_is, on_d.data(), &d_is, &found.algo, nullptr, 0, stream_),
          CUBLAS_STATUS_SUCCESS);
      EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
      EXPECT_EQ(on_d.read(), wanted) << a_turned << b_turned;
    }
  }
}

TEST_F(Products, OfABatchHaveTheirMatricesBehindEachOther) {
  const OnDevice<float> a({1, 2, 3, 4, 5, 6, 7, 8, 1, 1, 1, 1, 1, 1, 1, 1});
  const OnDevice<float> b({1, 0, 2, 1, 3, 1, 0, 2, 1, 1, 1, 1, 1, 2, 3, 4, 0, 0, 0, 1, 2, 0, 0, 2});
  const OnDevice<float> d(std::vector<float>(12));
  cublasLtMatmulDescOpaque_t product;
  ASSERT_EQ(cublasLtMatmulDescInit(&product, CUBLAS_COMPUTE_32F, CUDA_R_32F),
            CUBLAS_STATUS_SUCCESS);
  auto a_is = layout(kRows, kInner), b_is = layout(kInner, kColumns),
       d_is = layout(kRows, kColumns);
  const auto batch = [](cublasLtMatrixLayoutOpaque_t& is, std::int64_t stride) {
    const std::int32_t count = 2;
    EXPECT_EQ(cublasLtMatrixLayoutSetAttribute(&is, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count,
                                               sizeof count),
              CUBLAS_STATUS_SUCCESS);
    EXPECT_EQ(cublasLtMatrixLayoutSetAttribute(&is, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                               &stride, sizeof stride),
              CUBLAS_STATUS_SUCCESS);
  };
  batch(a_is, kRows * kInner);
  batch(b_is, kInner * kColumns);
  batch(d_is, kRows * kColumns);
  cublasLtMatmulPreferenceOpaque_t preference;
  ASSERT_EQ(cublasLtMatmulPreferenceInit(&preference), CUBLAS_STATUS_SUCCESS);
  cublasLtMatmulHeuristicResult_t found;
  int count = 0;
  ASSERT_EQ(cublasLtMatmulAlgoGetHeuristic(handle_, &product, &a_is, &b_is, &d_is, &d_is,
                                           &preference, 1, &found, &count),
            CUBLAS_STATUS_SUCCESS);
  const float one = 1, zero = 0;
  ASSERT_EQ(cublasLtMatmul(handle_, &product, &one, a.data(), &a_is, b.data(), &b_is, &zero,
                           d.data(), &d_is, d.data(), &d_is, &found.algo, nullptr, 0, stream_),
            CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  EXPECT_EQ(d.read(), (std::vector<float>{18, 22, 20, 26, 16, 20, 10, 10, 1, 1, 4, 4}));
}

TEST_F(Products, OfMatricesThatDoNotFitAreRefused) {
  cublasLtMatmulDescOpaque_t product;
  ASSERT_EQ(cublasLtMatmulDescInit(&product, CUBLAS_COMPUTE_32F, CUDA_R_32F),
            CUBLAS_STATUS_SUCCESS);
  cublasLtMatmulHeuristicResult_t found;
  EXPECT_EQ(find(product, layout(kInner, kRows), layout(kInner, kColumns), found),
            CUBLAS_STATUS_INVALID_VALUE);
}

TEST_F(Products, WithPointersLessAlignedThanTheAlgorithmExpectsAreRefused) {
  cublasLtMatmulDescOpaque_t product;
  ASSERT_EQ(cublasLtMatmulDescInit(&product, CUBLAS_COMPUTE_32F, CUDA_R_32F),
            CUBLAS_STATUS_SUCCESS);
  auto a_is = layout(kRows, kInner), b_is = layout(kInner, kColumns),
       d_is = layout(kRows, kColumns);
  cublasLtMatmulHeuristicResult_t found;
  ASSERT_EQ(find(product, a_is, b_is, found), CUBLAS_STATUS_SUCCESS);
  const OnDevice<float> a(std::vector<float>(9)), b(std::vector<float>(12)),
      d(std::vector<float>(6));
  const float one = 1, zero = 0;
  EXPECT_EQ(cublasLtMatmul(handle_, &product, &one, a.data() + 1, &a_is, b.data(), &b_is, &zero,
                           d.data(), &d_is, d.data(), &d_is, &found.algo, nullptr, 0, stream_),
            CUBLAS_STATUS_INVALID_VALUE);
}

}  // namespace
}  // namespace detol::emulated
