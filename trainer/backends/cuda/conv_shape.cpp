#include "trainer/backends/cuda/conv_shape.h"

#include <fmt/format.h>

#include <array>

namespace detol::inline trainer::cuda {

std::string to_text(const ConvShape& s) {
  constexpr std::array kDirections = {"forward", "data", "weights"};
  std::string text =
      fmt::format("conv {} {} {}x{}x{}x{} to {}, window {}x{}",
                  kDirections[static_cast<std::size_t>(s.direction)],
                  s.type == Type::kBfloat16 ? "bf16"
                  : s.tf32                  ? "tf32"
                                            : "fp32",
                  s.images, s.inputs, s.height, s.width, s.outputs, s.kernel_height, s.kernel);
  const auto add = [&](const char* name, std::int64_t is) {
    if (is != 1) text += fmt::format(", {} {}", name, is);
  };
  add("stride", s.stride);
  add("groups", s.groups);
  add("dilation", s.dilation);
  return text;
}

}  // namespace detol::inline trainer::cuda
