#pragma once

// Convolution: what the emulated cuDNN computes, by plain loops. Tensors lie channels last:
// x is N x H x W x C, y is N x P x Q x K, the weights are K x R x S x C/groups.
//
//   y[n, p, q, k] = sum over r, s, c of x[n, p stride + r dilation - pad, ..., c] w[k, r, s, c]
//
// (cross-correlation: cuDNN developer guide, "Convolution Formulas"), and its two gradients.

#include <cstdint>

namespace detol::emulated {

enum class Direction { kForward, kData, kFilter };
enum class Number { kFloat, kBfloat16 };

struct Convolution {
  Direction direction = Direction::kForward;
  Number type = Number::kFloat;
  std::int64_t images = 0, inputs = 0, height = 0, width = 0;    // N C H W
  std::int64_t outputs = 0, out_height = 0, out_width = 0;       // K P Q
  std::int64_t kernel_height = 0, kernel_width = 0, groups = 1;  // R S
  std::int64_t above = 0, beside = 0, stride_down = 1, stride_right = 1;
  std::int64_t dilation_down = 1, dilation_right = 1;
  bool rounds_inputs = false;   // to TF32
  bool sums_in_single = false;  // otherwise in double
  std::int64_t x_elements() const { return images * height * width * inputs; }
  std::int64_t y_elements() const { return images * out_height * out_width * outputs; }
  std::int64_t w_elements() const {
    return outputs * kernel_height * kernel_width * (inputs / groups);
  }
};

// Writes x, w or y, by `direction`, and reads the others.
void convolve(const Convolution& convolution, void* x, void* w, void* y);

// Round to nearest, ties to even, as the device does.
float to_tf32(float value);
float from_bfloat16(std::uint16_t bits);
std::uint16_t to_bfloat16(float value);

}  // namespace detol::emulated
