#include "trainer/dropout.h"

#include "core/rng.h"

namespace detol {

// One 64-bit word decides two elements: 32 bits resolve a rate to 2e-10.
void draw_dropout_mask(const DropoutStream& stream, double rate, std::span<float> mask) {
  Rng rng = Rng(stream.seed).split(static_cast<std::uint64_t>(stream.step)).split(stream.node);
  const auto threshold = static_cast<std::uint64_t>(rate * 0x1.0p32);
  const auto kept = static_cast<float>(1.0 / (1.0 - rate));
  const auto first = static_cast<std::uint64_t>(stream.first);
  rng.skip(first / 2);
  std::uint64_t word = first % 2 == 0 ? 0 : rng.next();
  for (std::size_t i = 0; i < mask.size(); ++i) {
    word = (first + i) % 2 == 0 ? rng.next() : word >> 32;
    mask[i] = (word & 0xffffffffu) < threshold ? 0.0f : kept;
  }
}

}  // namespace detol
