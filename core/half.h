#pragma once

// Half: numbers of 16 bits (IEEE 754 binary16: 11 significant bits, up to 65504) as messages carry
// them. Conversions round to nearest, ties to even; what is finite stays finite: beyond 65504 it
// becomes 65504. NaN and infinities stay what they are. Some 0.2 ns a number; any thread.

#include <cstddef>
#include <cstdint>
#include <span>

namespace detol::inline core {

enum class Half : std::uint16_t {};

// halves = values x scale; the scale a power of two. REQUIRES: as many of both.
void to_halves(std::span<const float> values, float scale, std::span<Half> halves);
void from_halves(std::span<const Half> halves, float scale, std::span<float> values);

// The sum of `terms` runs of halves that lie one behind the other, added up in their order in
// single precision and rounded once. REQUIRES: all.size() == terms x sum.size().
void add_halves(std::span<const Half> all, std::size_t terms, std::span<Half> sum);

}  // namespace detol::inline core
