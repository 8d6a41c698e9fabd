#pragma once

// ConvPlan is one convolution in one direction, as a graph of one operation of cuDNN. Plans are
// kept for the life of the thread that trains, so that the next candidate with the same shape has
// one at once. Private to this folder.

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
  // x, y, w: the input or its gradient, the output or its gradient, the weights or theirs.
  virtual void run(void* x, void* w, void* y, void* scratch) const = 0;
};

// Returns the algorithms that can compute it, in the order in which cuDNN expects them to be fast:
// the names of engines and their settings, "engine 41, 2=3". Only those that repeat their results
// to the bit. Throws DeviceError if there is none.
std::vector<std::string> algorithms_of(const ConvShape& shape);

// Returns the plan of that algorithm; if it is empty, of the first that works within `most_scratch`
// bytes: on all images at once, or, where none does, on as few at a time as it takes (Oyama et al.,
// 2018, arXiv 1804.04806), which changes no number of an image, and of the weights' gradient the
// order in which images are added up. Null: there is none. The plan stays alive.
const ConvPlan* plan_of(const ConvShape& shape, const std::string& algorithm,
                        std::size_t most_scratch);

}  // namespace detol::inline trainer::cuda
