#pragma once

// The parameters of a fit: their order in the list of their logarithms, their bounds and their
// prior. Private to this folder. Pure.
//
// The prior's densities are of the parameters themselves, not of their logarithms (as Optuna's), up
// to constants; d is the number of lengths and penalties:
//
//   length l, d <= 20      -(0.1 l^2 + 0.1 / l^2)
//            d > 20        -log l - (log l - mu)^2 / (2 s^2),  mu = sqrt 2 + log(d) / 2,  s^2 = 3
//   penalty w              that of the length w^-1/2: at a distance of the whole unit cube, such a
//                          length takes as much of the correlation as the category's change does
//   total v = a + b + c    log v - v                        Gamma(2, 1): outcomes have variance 1
//   shares of v            1/2 log(a b c / v^3)             Dirichlet(3/2): no term is preferred;
//                          one may vanish (a share of 1/100 costs 2), but not by a few observations
//   noise s                0.1 log s - 30 s                 Gamma(1.1, 30)

#include <cstddef>
#include <span>
#include <vector>

#include "surrogate/kernel.h"

namespace detol::inline surrogate {

// ParameterList: the list log l, log w, log a, (with graphs: log b, log c), log noise.
struct ParameterList {
  std::size_t lengths = 0, penalties = 0;
  bool has_graph = false;

  std::size_t variance() const { return lengths + penalties; }  // the position of a
  std::size_t noise() const { return variance() + (has_graph ? 3 : 1); }
  std::size_t size() const { return noise() + 1; }
};

ParameterList list_of(const Features& features);
std::vector<double> logarithms(const KernelParameters& parameters, const ParameterList& list);
KernelParameters from_logarithms(std::span<const double> logarithms, int depth,
                                 const ParameterList& list);

struct Bounds {
  std::vector<double> low, high;  // of the logarithms
};
Bounds bounds_of(const ParameterList& list, double least_noise);

// Returns the logarithm of the prior; adds its gradient by the logarithms to `gradient`, unless
// that is empty.
double log_prior(const KernelParameters& parameters, const ParameterList& list,
                 std::span<double> gradient);

}  // namespace detol::inline surrogate
