#pragma once

// The gradient of a pointwise convolution's weights as products by cuBLASLt. Private to this
// folder.

#include <memory>

#include "trainer/backends/cuda/conv_plan.h"
#include "trainer/backends/cuda/conv_shape.h"

namespace detol::inline trainer::cuda {

// Returns a plan for the weights' gradient of a convolution of one tap, stride 1 and one group,
// which adds up so many pixels for so few weights that one product would keep only a part of the
// device busy: the pixels are divided into slices, each of which is a product, and their results
// are added up in their order. Null for other shapes. Throws DeviceError.
std::unique_ptr<ConvPlan> make_product_plan(const ConvShape& shape);

}  // namespace detol::inline trainer::cuda
