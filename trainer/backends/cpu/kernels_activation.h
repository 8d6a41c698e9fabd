#pragma once

// The activation functions on registers of floats, and the elementary functions that they need.

#include "encodings/network/activation_functions.h"
#include "trainer/backends/cpu/kernels.h"
#include "trainer/backends/cpu/lanes.h"

namespace detol::inline trainer::cpu {
namespace {

// Returns the polynomial, whose coefficients come from the highest power down.
template <std::size_t kTerms>
Lanes polynomial(const float (&coefficients)[kTerms], Lanes x) {
  Lanes sum = all(coefficients[0]);
  for (std::size_t i = 1; i < kTerms; ++i) sum = multiply_add(sum, x, all(coefficients[i]));
  return sum;
}

// Returns e^x, to 2e-7 of it: 2^n e^r, where |r| <= ln 2 / 2, and for e^r the polynomial of fifth
// degree that oneDNN has. 0 below the logarithm of the least normal float.
Lanes exponential(Lanes x) {
  constexpr float kLeast = -0x1.5d58a0p6f, kMost = 0x1.62e430p6f;  // ln FLT_MIN, ln FLT_MAX
  const Lanes inside = x < kLeast ? all(kLeast) : x > kMost ? all(kMost) : x;
  const Lanes n = DETOL_FLOOR(inside * 0x1.715476p0f + 0.5f);
  const Lanes r = multiply_add(-n, all(0x1.62e430p-1f), inside);
  constexpr float kPowers[] = {0x1.0f9f9cp-7f, 0x1.573a1ap-5f, 0x1.555a80p-3f,
                               0x1.fffdc6p-2f, 0x1.fffff6p-1f, 1.0f};
  const Lanes power = polynomial(kPowers, r);
  // 2^128 is no float: twice 2^(n - 1).
  const Marks exponent = (__builtin_convertvector(n - 1.0f, Marks) + 127) << 23;
  const Lanes scale = x < kLeast ? Lanes{} : reinterpret_cast<Lanes>(exponent);
  return power * scale * 2.0f;
}

Lanes magnitude(Lanes x) {
  return reinterpret_cast<Lanes>(reinterpret_cast<Marks>(x) & 0x7fffffff);
}

// ElementaryOfLanes stands in for Elementary (activation_functions.h).
struct ElementaryOfLanes {
  static Lanes constant(double value) { return all(static_cast<float>(value)); }
  static Lanes sqrt(Lanes x) { return DETOL_SQRT(x); }
  static Lanes exp(Lanes x) { return exponential(x); }

  static Lanes sigmoid(Lanes x) {
    const Lanes power = exp(-magnitude(x));  // cannot be infinite
    const Lanes below = power / (power + 1.0f);
    return x < 0.0f ? below : 1.0f - below;
  }

  // s + s (x - x s), rounded twice.
  static Lanes silu_slope(Lanes x, Lanes s) { return multiply_add(s, multiply_add(-x, s, x), s); }

  // Near 0 by the polynomial of Cephes (tanhf), elsewhere by e^2x.
  static Lanes tanh(Lanes x) {
    const Lanes square = x * x;
    constexpr float kSquares[] = {-5.70498872745e-3f, 2.06390887954e-2f, -5.37397155531e-2f,
                                  1.33314422036e-1f, -3.33332819422e-1f};
    const Lanes rest = polynomial(kSquares, square) * square;
    const Lanes near = multiply_add(rest, x, x);
    const Lanes size = magnitude(x);
    const Lanes far = 1.0f - 2.0f / (exp(size + size) + 1.0f);
    return size < 0.625f ? near : x < 0.0f ? -far : far;
  }

  // By formula 7.1.26 of Abramowitz and Stegun for erfc, to 1.5e-7.
  static Lanes normal(Lanes x) {
    const Lanes size = magnitude(x) * 0.70710678f;
    const Lanes t = 1.0f / multiply_add(size, constant(0.3275911), constant(1));
    constexpr float kShares[] = {1.061405429f,  -1.453152027f, 1.421413741f,
                                 -0.284496736f, 0.254829592f,  0.0f};
    const Lanes beyond = 0.5f * polynomial(kShares, t) * exp(-size * size);
    return x < 0.0f ? beyond : 1.0f - beyond;
  }
};

template <Activation kFunction>
void activate(const float* x, float* y, std::size_t floats) {
  for (std::size_t i = 0; i < floats; i += kLanes)
    store(y + i, value_of<kFunction, Lanes, ElementaryOfLanes>(load(x + i)));
}

template <Activation kFunction>
void activate_backward(const float* at, const float* g, float* dx, std::size_t floats) {
  for (std::size_t i = 0; i < floats; i += kLanes)
    store(dx + i, gradient_of<kFunction, Lanes, ElementaryOfLanes>(load(at + i), load(g + i)));
}

template <std::size_t... kFunctions>
constexpr std::array<ActivationKernels, kActivations.size()> activation_kernels(
    std::index_sequence<kFunctions...>) {
  return {ActivationKernels{activate<static_cast<Activation>(kFunctions)>,
                            activate_backward<static_cast<Activation>(kFunctions)>}...};
}

}  // namespace
}  // namespace detol::inline trainer::cpu
