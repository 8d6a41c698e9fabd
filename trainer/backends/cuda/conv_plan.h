#pragma once

// ConvPlan runs one convolution in one direction, as a cuDNN graph of one operation
// (conv_plans.h) or by other means. Private to this folder.

#include <cstddef>

namespace detol::inline trainer::cuda {

class ConvPlan {
 public:
  virtual ~ConvPlan() = default;
  virtual std::size_t scratch_bytes() const = 0;
  // x: the input or its gradient; w: the weights or theirs; y: the output or its gradient.
  virtual void run(void* x, void* w, void* y, void* scratch) const = 0;
};

}  // namespace detol::inline trainer::cuda
