#pragma once

// ConvShape: all that decides how a convolution is computed in one direction. Private to this
// folder.

#include <cstdint>
#include <string>

#include "trainer/backends/cuda/kernels.h"

namespace detol::inline trainer::cuda {

enum class Direction { kForward, kData, kWeights };

// Channels are padded; weights are stored as outputs x height x width x inputs of a group.
struct ConvShape {
  Direction direction = Direction::kForward;
  Type type = Type::kFloat;
  bool tf32 = false;  // floats are multiplied in TF32
  std::int64_t images = 0, inputs = 0, height = 0, width = 0;
  std::int64_t outputs = 0, out_height = 0, out_width = 0;
  std::int64_t kernel_height = 1, kernel = 1, stride = 1, dilation = 1, groups = 1;
  std::int64_t above = 0, beside = 0;  // padding
};

std::string to_text(const ConvShape& shape);

}  // namespace detol::inline trainer::cuda
