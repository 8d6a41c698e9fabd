#pragma once

// Our own kernels for convolutions at which cuDNN's engines are several times slower than the
// memory: depthwise ones, and those of 16 channels on tensor cores. They repeat their bits. The
// pointers are those of ConvPlan::run(). Private to this folder.

#include <cstddef>

#include "trainer/backends/cuda/conv_shape.h"

namespace detol::inline trainer::cuda {

// ConvKernel is a way to compute a convolution in one direction; its functions take only shapes for
// which supports() is true.
struct ConvKernel {
  const char* name;  // an algorithm, beside cuDNN's
  bool (*supports)(const ConvShape& shape);
  std::size_t (*scratch_bytes)(const ConvShape& shape);
  void (*run)(const ConvShape& shape, void* x, void* w, void* y, void* scratch, Stream stream);
};

// One filter per channel, in floats or bfloat16; sums are floats.
extern const ConvKernel kDepthwiseKernel;

// Bfloat16, stride 1, windows of at most 9 taps around their pixel, at most 32 channels of the
// result and 16 to add up over; for the weights at most 32 of both. By the
// matrix instructions of `tensor_core.cuh`.
extern const ConvKernel kTileKernel;

}  // namespace detol::inline trainer::cuda
