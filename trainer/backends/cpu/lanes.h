#pragma once

// Lanes: one vector register of floats, of the instruction set that the including file is compiled
// for. kernels_baseline.cpp and kernels_avx512.cpp, which alone include this and the kernels, say
// before that how many lanes there are and what its instructions are called.
//
// Everything is in an anonymous namespace and nothing of the standard library is called: an inline
// function shared with other files could end up in the program as this file's version of it.

#include <cstddef>
#include <cstdint>

#ifndef DETOL_LANES
#error "kernels_baseline.cpp and kernels_avx512.cpp define DETOL_LANES before they include this"
#endif

namespace detol::inline trainer::onednn {
namespace {

constexpr std::ptrdiff_t kLanes = DETOL_LANES;
constexpr std::ptrdiff_t kRows = kLanes == 16 ? 12 : 6;  // of a block of a product, in registers
typedef float Lanes __attribute__((vector_size(DETOL_LANES * sizeof(float))));
typedef std::int32_t Marks __attribute__((vector_size(DETOL_LANES * sizeof(float))));

Lanes load(const float* from) {
  return *reinterpret_cast<const Lanes*>(from);
}
void store(float* to, Lanes value) {
  *reinterpret_cast<Lanes*>(to) = value;
}
// a b + c, rounded once. The program is compiled without contraction: elsewhere products round.
inline Lanes multiply_add(Lanes a, Lanes b, Lanes c) {
  return DETOL_MULTIPLY_ADD(a, b, c);
}
Lanes all(float value) {
  return value - Lanes{};  // a broadcast; 0 + value would be an addition, for the sake of -0
}
// NaN stays NaN: a diverging candidate must be seen.
Lanes rectified(Lanes x) {
  return x < 0.0f ? Lanes{} : x;
}

}  // namespace
}  // namespace detol::inline trainer::onednn
