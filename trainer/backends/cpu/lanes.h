#pragma once

// Lanes: one vector register of floats, of the instruction set that the including file is compiled
// for. Only kernels_baseline.cpp and kernels_avx512.cpp include this and the kernels; before that
// they define the number of lanes and the names of the instructions.
//
// Everything is in an anonymous namespace and nothing of the standard library is called: the linker
// could keep this file's version of an inline function for the whole program.

#include <cstddef>
#include <cstdint>

#ifndef DETOL_LANES
#error "kernels_baseline.cpp and kernels_avx512.cpp define DETOL_LANES before they include this"
#endif

namespace detol::inline trainer::cpu {
namespace {

constexpr std::ptrdiff_t kLanes = DETOL_LANES;
constexpr std::ptrdiff_t kRows = kLanes == 16 ? 12 : 6;  // rows of a product's block in registers
typedef float Lanes __attribute__((vector_size(DETOL_LANES * sizeof(float))));
typedef std::int32_t Marks __attribute__((vector_size(DETOL_LANES * sizeof(float))));

Lanes load(const float* from) {
  return *reinterpret_cast<const Lanes*>(from);
}
void store(float* to, Lanes value) {
  *reinterpret_cast<Lanes*>(to) = value;
}
// Returns a b + c, rounded once. The program is compiled without contraction, so that other
// products are rounded.
inline Lanes multiply_add(Lanes a, Lanes b, Lanes c) {
  return DETOL_MULTIPLY_ADD(a, b, c);
}
Lanes all(float value) {
  return value - Lanes{};  // a broadcast; 0 + value would be an addition, as 0 + -0 is 0
}

}  // namespace
}  // namespace detol::inline trainer::cpu
