#include "trainer/backends/cuda/product_plan.h"

#include <algorithm>

#include "trainer/backends/cuda/device.h"
#include "trainer/backends/cuda/matmul.h"

namespace detol::inline trainer::cuda {
namespace {

constexpr std::int64_t kTile = 64;          // weights that a block of a product computes, squared
constexpr std::int64_t kMostBlocks = 16;    // of a product that is divided
constexpr std::int64_t kLeastPixels = 256;  // of a slice
constexpr std::size_t kProductScratch = std::size_t{1} << 22;  // bytes of one product
constexpr std::size_t kPartsLine = 256;

class ProductPlan final : public ConvPlan {
 public:
  ProductPlan(const ConvShape& shape, std::int64_t pixels, std::int64_t slices)
      : type_(shape.type),
        weights_(shape.outputs * shape.inputs),
        slices_(slices),
        product_({.rows = shape.outputs,
                  .columns = shape.inputs,
                  .inner = pixels / slices,
                  .a_transposed = true,
                  .type = shape.type,
                  .result = Type::kFloat,
                  .tf32 = shape.tf32,
                  .count = slices},
                 kProductScratch) {}

  std::size_t scratch_bytes() const override { return parts_bytes() + product_.scratch_bytes(); }

  void run(void* x, void* w, void* y, void* scratch) const override {
    auto* parts = static_cast<float*>(scratch);
    product_.run(y, x, parts, static_cast<std::byte*>(scratch) + parts_bytes(), device().stream);
    add_up_parts(type_, parts, slices_, weights_, w, device().stream);
  }

 private:
  std::size_t parts_bytes() const {
    const auto bytes = static_cast<std::size_t>(slices_ * weights_) * sizeof(float);
    return (bytes + kPartsLine - 1) / kPartsLine * kPartsLine;
  }
  const Type type_;
  const std::int64_t weights_, slices_;
  const Matmul product_;
};

// Returns the largest divisor of `pixels` that is at most `most`.
std::int64_t slices_of(std::int64_t pixels, std::int64_t most) {
  for (std::int64_t slices = most; slices > 1; --slices) {
    if (pixels % slices == 0) return slices;
  }
  return 1;
}

}  // namespace

std::unique_ptr<ConvPlan> make_product_plan(const ConvShape& s) {
  const bool is_pointwise = s.kernel == 1 && s.kernel_height == 1 && s.stride == 1 &&
                            s.groups == 1 && s.above == 0 && s.beside == 0;
  if (s.direction != Direction::kWeights || !is_pointwise) return nullptr;
  const std::int64_t pixels = s.images * s.height * s.width;
  const auto blocks = [](std::int64_t channels) { return (channels + kTile - 1) / kTile; };
  const std::int64_t busy = blocks(s.outputs) * blocks(s.inputs);
  if (busy > kMostBlocks) return nullptr;
  const std::int64_t most = std::min(device().multiprocessors / busy, pixels / kLeastPixels);
  const std::int64_t slices = slices_of(pixels, most);
  if (slices < 2) return nullptr;
  return std::make_unique<ProductPlan>(s, pixels, slices);
}

}  // namespace detol::inline trainer::cuda
