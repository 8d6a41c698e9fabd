#include "trainer/data/shuffle.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace detol::inline trainer {
namespace {

constexpr std::size_t kBlockBytes = std::size_t{1} << 20;

}  // namespace

std::size_t block_images(std::size_t image_bytes) {
  return std::max<std::size_t>(1, kBlockBytes / image_bytes);
}

void shuffle_images(Rng rng, std::size_t image_bytes, std::span<std::int64_t> order,
                    const ShuffleBounds& bounds) {
  std::iota(order.begin(), order.end(), 0);
  if (order.size() <= bounds.whole_bytes / image_bytes) {
    rng.shuffle(order);
    return;
  }
  const std::size_t size = block_images(image_bytes);
  std::vector<std::size_t> blocks((order.size() + size - 1) / size);
  std::iota(blocks.begin(), blocks.end(), std::size_t{0});
  rng.shuffle(std::span(blocks));
  std::size_t at = 0;
  for (const std::size_t block : blocks) {
    const auto images = order.subspan(at, std::min(size, order.size() - block * size));
    std::iota(images.begin(), images.end(), static_cast<std::int64_t>(block * size));
    at += images.size();
  }
  const std::size_t window = bounds.window_blocks * size;
  for (std::size_t first = 0; first < order.size(); first += window)
    rng.shuffle(order.subspan(first, std::min(window, order.size() - first)));
}

}  // namespace detol::inline trainer
