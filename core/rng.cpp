#include "core/rng.h"

#include <Random123/philox.h>

#include <cassert>
#include <cmath>
#include <numbers>

namespace detol::inline core {
namespace {

// Returns one 128-bit block of the stream `key`; kSplit and kDraw are different lanes, so that
// derived keys are independent of drawn numbers.
std::array<std::uint64_t, 2> philox(std::uint64_t key, std::uint64_t counter, std::uint32_t lane) {
  const auto low = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
  const auto high = [](std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); };
  const r123::Philox4x32::ctr_type in{{low(counter), high(counter), lane, 0}};
  const r123::Philox4x32::key_type k{{low(key), high(key)}};
  const auto out = r123::Philox4x32()(in, k);
  return {out[0] | (static_cast<std::uint64_t>(out[1]) << 32),
          out[2] | (static_cast<std::uint64_t>(out[3]) << 32)};
}

constexpr std::uint32_t kDraw = 0;
constexpr std::uint32_t kSplit = 1;

}  // namespace

Rng Rng::split(std::uint64_t key) const {
  return Rng(philox(key_, key, kSplit)[0]);
}

std::uint64_t Rng::next() {
  if (left_ == 0) {
    block_ = philox(key_, counter_++, kDraw);
    left_ = 2;
  }
  return block_[2 - left_--];
}

void Rng::skip(std::uint64_t words) {
  for (; words > 0 && left_ > 0; --words) --left_;
  counter_ += words / 2;
  if (words % 2 != 0) next();
}

double Rng::uniform() {
  return static_cast<double>(next() >> 11) * 0x1.0p-53;
}

double Rng::uniform(double low, double high) {
  return low + (high - low) * uniform();
}

double Rng::normal() {
  const double u = 1.0 - uniform();  // (0, 1]: the logarithm is finite
  const double angle = 2.0 * std::numbers::pi * uniform();
  return std::sqrt(-2.0 * std::log(u)) * std::cos(angle);
}

std::uint64_t Rng::below(std::uint64_t n) {
  assert(n > 0);
  const std::uint64_t rejected = (0 - n) % n;  // 2^64 mod n
  for (;;) {
    const std::uint64_t word = next();
    if (word >= rejected) return word % n;
  }
}

}  // namespace detol::inline core
