#include "tests/support/cuda/product.h"

#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <vector>

#include "tests/support/cuda/convolution.h"
#include "tests/support/cuda/state.h"

namespace detol::emulated {
namespace {

float read_at(const void* from, cudaDataType type, std::size_t i) {
  return type == CUDA_R_32F ? static_cast<const float*>(from)[i]
                            : from_bfloat16(static_cast<const std::uint16_t*>(from)[i]);
}

void write_at(void* to, cudaDataType type, std::size_t i, float value) {
  if (type == CUDA_R_32F)
    static_cast<float*>(to)[i] = value;
  else
    static_cast<std::uint16_t*>(to)[i] = to_bfloat16(value);
}

// Returns op(matrix), column-major without gaps.
std::vector<double> matrix_of(const void* from, const Layout& layout, std::int32_t operation,
                              bool rounds) {
  const auto leading = static_cast<std::size_t>(layout.leading);
  std::vector<double> out(layout.rows * layout.columns);
  for (std::size_t column = 0; column < layout.columns; ++column) {
    for (std::size_t row = 0; row < layout.rows; ++row) {
      const float value = read_at(from, layout.type, column * leading + row);
      const std::size_t at =
          operation == CUBLAS_OP_N ? column * layout.rows + row : row * layout.columns + column;
      out[at] = rounds ? to_tf32(value) : value;
    }
  }
  return out;
}

double bias_at(const Task& task, std::size_t row) {
  if (task.product.epilogue != CUBLASLT_EPILOGUE_BIAS) return 0;
  const auto type =
      task.product.bias_type < 0 ? task.d.type : static_cast<cudaDataType>(task.product.bias_type);
  return read_at(task.product.bias, type, row);
}

// Returns where matrix `i` of a batch begins.
template <typename Pointer>
Pointer matrix_at(Pointer first, const Layout& layout, std::int32_t i) {
  using Byte = std::conditional_t<std::is_const_v<std::remove_pointer_t<Pointer>>, const std::byte,
                                  std::byte>;
  return static_cast<Byte*>(first) +
         static_cast<std::size_t>(i * layout.stride) * size_of(layout.type);
}

void multiply_one(const Task& task, const Operands& on) {
  const auto [rows, columns, inner] = task.sizes;
  const auto a = matrix_of(on.a, task.a, task.product.transposes_a, task.rounds());
  const auto b = matrix_of(on.b, task.b, task.product.transposes_b, task.rounds());
  std::vector<double> sums(rows);
  for (std::size_t column = 0; column < columns; ++column) {
    std::ranges::fill(sums, 0.0);
    for (std::size_t k = 0; k < inner; ++k) {
      const double by = b[column * inner + k];
      const double* from = a.data() + k * rows;
      for (std::size_t row = 0; row < rows; ++row) sums[row] += from[row] * by;
    }
    for (std::size_t row = 0; row < rows; ++row) {
      const std::size_t at = column * static_cast<std::size_t>(task.d.leading) + row;
      const std::size_t before = column * static_cast<std::size_t>(task.c.leading) + row;
      const double added = on.beta == 0 ? 0 : on.beta * read_at(on.c, task.c.type, before);
      write_at(on.d, task.d.type, at,
               static_cast<float>(on.alpha * sums[row] + added + bias_at(task, row)));
    }
  }
}

}  // namespace

std::size_t size_of(cudaDataType type) {
  return type == CUDA_R_32F ? 4 : type == CUDA_R_16BF ? 2 : 0;
}

void multiply(const Task& task, const Operands& on) {
  if (!may_run()) return;
  for (std::int32_t i = 0; i < task.d.count; ++i)
    multiply_one(task, {on.alpha, on.beta, matrix_at(on.a, task.a, i), matrix_at(on.b, task.b, i),
                        matrix_at(on.c, task.c, i), matrix_at(on.d, task.d, i)});
}

}  // namespace detol::emulated
