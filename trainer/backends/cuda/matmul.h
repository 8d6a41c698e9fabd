#pragma once

// Products of matrices by cuBLASLt. All matrices are row-major here; private to this folder.

#include <cstddef>
#include <cstdint>
#include <memory>

#include "trainer/backends/cuda/kernels.h"

namespace detol::inline trainer::cuda {

// c (rows x columns) = a b over `inner`, either of which may lie transposed in memory.
struct MatmulShape {
  std::int64_t rows = 0, columns = 0, inner = 0;
  bool a_transposed = false;  // in memory: inner x rows
  bool b_transposed = false;  // in memory: columns x inner
  Type type = Type::kFloat;   // of a and b
  Type result = Type::kFloat;
  bool tf32 = false;       // floats are multiplied in TF32
  std::int64_t count = 1;  // of such products, whose matrices follow each other in memory
};

class Matmul {
 public:
  // Chooses an algorithm with at most `most_scratch` bytes of scratch memory. Throws DeviceError.
  Matmul(const MatmulShape& shape, std::size_t most_scratch);
  ~Matmul();
  Matmul(Matmul&&) noexcept;
  Matmul& operator=(Matmul&&) noexcept;

  std::size_t scratch_bytes() const;
  void run(const void* a, const void* b, void* c, void* scratch, Stream stream) const;

 private:
  struct Descriptors;
  std::unique_ptr<Descriptors> descriptors_;
};

}  // namespace detol::inline trainer::cuda
