#pragma once

// Half: numbers of 16 bits (IEEE 754 binary16: 11 significant bits, up to 65504) as messages carry
// them. Conversions round to nearest, ties to even; finite numbers beyond 65504 become 65504; NaN
// and infinities stay NaN and infinities. About 0.2 ns a number; any thread.

#include <cstddef>
#include <cstdint>
#include <span>

namespace detol::inline core {

enum class Half : std::uint16_t {};

// Compute halves = values x scale and values = halves x scale. REQUIRES: scale is a power of two;
// both spans have the same size.
void to_halves(std::span<const float> values, float scale, std::span<Half> halves);
void from_halves(std::span<const Half> halves, float scale, std::span<float> values);

// Computes the sum of `terms` consecutive runs of halves, added up in their order in single
// precision and rounded once. REQUIRES: all.size() == terms x sum.size().
void add_halves(std::span<const Half> all, std::size_t terms, std::span<Half> sum);

}  // namespace detol::inline core
