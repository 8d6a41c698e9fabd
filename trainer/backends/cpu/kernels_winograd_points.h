#pragma once

// Products with the matrices of the Winograd kernels (kernels_winograd.h), from one side at a time.

#include "trainer/backends/cpu/lanes.h"

namespace detol::inline trainer::cpu {
namespace {

// The points are 0, +-a, +-b and infinity; as a b = 1, neither factor of a product is large.
constexpr float kA = 0.70710678f, kB = 1.41421356f;

// Multiplies by one side of B^T x B.
inline void to_points(Lanes& x0, Lanes& x1, Lanes& x2, Lanes& x3, Lanes& x4, Lanes& x5) {
  const Lanes even = multiply_add(all(-2.0f), x2, x4), odd = multiply_add(all(-2.0f), x1, x3);
  const Lanes far_even = multiply_add(all(-0.5f), x2, x4);
  const Lanes far_odd = multiply_add(all(-0.5f), x1, x3);
  x0 = multiply_add(all(-2.5f), x2, x0 + x4);
  x5 = multiply_add(all(-2.5f), x3, x1 + x5);
  x1 = multiply_add(all(kA), odd, even);
  x2 = multiply_add(all(-kA), odd, even);
  x3 = multiply_add(all(kB), far_odd, far_even);
  x4 = multiply_add(all(-kB), far_odd, far_even);
}

// Multiplies by one side of A g A^T: four values to six.
inline void gradient_to_points(const Lanes g[4], Lanes r[6]) {
  const Lanes even = multiply_add(all(0.5f), g[2], g[0]);
  const Lanes odd = multiply_add(all(0.5f), g[3], g[1]);
  const Lanes far_even = multiply_add(all(2.0f), g[2], g[0]);
  const Lanes far_odd = multiply_add(all(2.0f), g[3], g[1]);
  r[0] = g[0];
  r[1] = multiply_add(all(kA), odd, even);
  r[2] = multiply_add(all(-kA), odd, even);
  r[3] = multiply_add(all(kB), far_odd, far_even);
  r[4] = multiply_add(all(-kB), far_odd, far_even);
  r[5] = g[3];
}

// Multiplies by one side of A^T m A: six values to four.
inline void from_points(const Lanes m[6], Lanes y[4]) {
  const Lanes sum = m[1] + m[2], difference = kA * (m[1] - m[2]);
  const Lanes far_sum = m[3] + m[4], far_difference = kB * (m[3] - m[4]);
  y[0] = m[0] + sum + far_sum;
  y[1] = difference + far_difference;
  y[2] = multiply_add(all(0.5f), sum, 2.0f * far_sum);
  y[3] = multiply_add(all(0.5f), difference, multiply_add(all(2.0f), far_difference, m[5]));
}

// Multiplies by one side of G w G^T: three values to six.
inline void weight_to_points(const Lanes w[3], Lanes u[6]) {
  const Lanes even = (w[0] + 0.5f * w[2]) * (-2.0f / 3), odd = w[1] * (-2.0f / 3 * kA);
  const Lanes far_even = (w[0] + 2.0f * w[2]) * (1.0f / 6), far_odd = w[1] * (1.0f / 6 * kB);
  u[0] = w[0];
  u[1] = even + odd;
  u[2] = even - odd;
  u[3] = far_even + far_odd;
  u[4] = far_even - far_odd;
  u[5] = w[2];
}

// Multiplies by one side of G^T u G: six values to three.
inline void weight_from_points(const Lanes u[6], Lanes w[3]) {
  const Lanes sum = u[1] + u[2], far_sum = u[3] + u[4];
  w[0] = u[0] - sum * (2.0f / 3) + far_sum * (1.0f / 6);
  w[1] = (u[2] - u[1]) * (2.0f / 3 * kA) + (u[3] - u[4]) * (1.0f / 6 * kB);
  w[2] = (far_sum - sum) * (1.0f / 3) + u[5];
}

}  // namespace
}  // namespace detol::inline trainer::cpu
