#pragma once

// Elementary has the elementary functions of double and float, for formulas that are written once
// for all kinds of numbers. Another kind, such as a register of floats, brings a class with the
// same functions; comparisons of two such numbers choose between two others with ?:.

#include <cmath>

#ifdef __CUDACC__
#define DETOL_ON_DEVICE __host__ __device__
#else
#define DETOL_ON_DEVICE
#endif

namespace detol::inline core {

template <typename N>
struct Elementary {
  DETOL_ON_DEVICE static N constant(double value) { return static_cast<N>(value); }
  DETOL_ON_DEVICE static N sqrt(N x) { return std::sqrt(x); }
  DETOL_ON_DEVICE static N exp(N x) { return std::exp(x); }
  DETOL_ON_DEVICE static N tanh(N x) { return std::tanh(x); }
  DETOL_ON_DEVICE static N sigmoid(N x) { return 1 / (1 + std::exp(-x)); }
  // Returns the slope of x sigmoid(x), where s = sigmoid(x).
  DETOL_ON_DEVICE static N silu_slope(N x, N s) { return s * (1 + x * (1 - s)); }
  // Returns the normal distribution's probability below x.
  DETOL_ON_DEVICE static N normal(N x) {
    return constant(0.5) * std::erfc(x * constant(-0.70710678118654752440));
  }
};

}  // namespace detol::inline core
