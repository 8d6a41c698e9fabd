#pragma once

// ConvPlan runs one convolution in one direction, as a cuDNN graph of one operation. Plans are
// cached for the life of the thread that trains, for later candidates with the same shape. Private
// to this folder.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "trainer/backends/cuda/conv_shape.h"

namespace detol::inline trainer::cuda {

class ConvPlan {
 public:
  virtual ~ConvPlan() = default;
  virtual std::size_t scratch_bytes() const = 0;
  // x: the input or its gradient; w: the weights or theirs; y: the output or its gradient.
  virtual void run(void* x, void* w, void* y, void* scratch) const = 0;
};

// Returns up to six algorithms that compute `shape` and repeat their results to the bit, the
// fastest by cuDNN's heuristics first, those compiled at run time last. A name is an engine and its
// settings, "engine 41, 2=3". Throws DeviceError if there is none.
std::vector<std::string> algorithms_of(const ConvShape& shape);

// Returns the plan of `algorithm` or, if that is empty, of the first that works within
// `most_scratch` bytes. If none does, it divides the images into 2, 4, 8 ... slices until one does
// (Oyama et al., 2018, arXiv 1804.04806): this changes no image's numbers, and of the weights'
// gradient only the order in which images are added up. Null if no plan works. The cache owns the
// plan.
const ConvPlan* plan_of(const ConvShape& shape, const std::string& algorithm,
                        std::size_t most_scratch);

}  // namespace detol::inline trainer::cuda
