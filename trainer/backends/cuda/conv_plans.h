#pragma once

// The plans of a convolution by each of its algorithms. Plans are cached for the life of the thread
// that trains, for later candidates with the same shape. Private to this folder.

#include <cstddef>
#include <string>
#include <vector>

#include "trainer/backends/cuda/conv_plan.h"
#include "trainer/backends/cuda/conv_shape.h"

namespace detol::inline trainer::cuda {

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
