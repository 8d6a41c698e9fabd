#pragma once

// The parameters of a fit: their coordinates in a climb, their bounds and their prior. Private to
// this folder. Pure.
//
// The prior's densities are of the parameters themselves, not of their logarithms (as Optuna's), up
// to constants; d is the number of lengths and penalties:
//
//   length l, d <= 20      -(0.1 l^2 + 0.1 / l^2)
//            d > 20        -log l - (log l - mu)^2 / (2 s^2),  mu = sqrt 2 + log(d) / 2,  s^2 = 3
//   penalty w              that of the length w^-1/2: at a distance of the whole unit cube, such a
//                          length takes as much of the correlation as the category's change does
//   log l, -1/2 log w      pooled: -sum e^2 / 0.6, e how far each is from the mean of its kind;
//                          or free: -1/2 for each but one of its kind; whichever is more
//   shears u               all 0, or for each -2 log(1 + u^2 / 3) - 1/2 log n: Student's t with 3
//                          degrees, and what the Bayesian information criterion charges a parameter
//                          that n observations choose (Schwarz, 1978, Annals of Statistics 6)
//   total v = a + b + c    log v - v                        Gamma(2, 1): outcomes have variance 1
//   shares of v            1/2 log(a b c / v^3)             Dirichlet(3/2): no term is preferred;
//                          one may vanish (a share of 1/100 costs 2), but not by a few observations
//   noise s                0.1 log s - 30 s                 Gamma(1.1, 30)
//
// So lengths are partially pooled (Gelman and Hill, 2007, "Data Analysis Using Regression", chapter
// 12): about alike, until the observations pay for parameters that matter differently. A few dozen
// observations of many parameters cannot say which of them matter, and lengths fitted one by one
// then find differences that there are not. With shears there is no pooling, and no charge for
// doing without.

#include <cstddef>
#include <span>
#include <vector>

#include "surrogate/kernel.h"

namespace detol::inline surrogate {

// ParameterList: the coordinates log l, log w, u, log a, (with graphs: log b, log c), log noise.
struct ParameterList {
  std::size_t lengths = 0, penalties = 0, shears = 0;
  bool has_graph = false;

  std::size_t shear() const { return lengths + penalties; }  // the position of the first u
  std::size_t variance() const { return shear() + shears; }  // the position of a
  std::size_t noise() const { return variance() + (has_graph ? 3 : 1); }
  std::size_t size() const { return noise() + 1; }
};

ParameterList list_of(const Features& features);
std::vector<double> coordinates(const KernelParameters& parameters, const ParameterList& list);
KernelParameters from_coordinates(std::span<const double> coordinates, int depth,
                                  const ParameterList& list);

struct Bounds {
  std::vector<double> low, high;  // of the coordinates
};
Bounds bounds_of(const ParameterList& list, double least_noise);

// Pooling: whether lengths, and penalties, are about alike beforehand, or free.
enum class Pooling { kPartial, kNone };
double free_charge(const ParameterList& list);  // what a prior without pooling charges

double shear_charge(std::size_t observations);  // what a prior with shears charges each

// Returns the logarithm of the prior of a fit to so many observations; adds its gradient by the
// coordinates to `gradient`, unless that is empty.
double log_prior(const KernelParameters& parameters, const ParameterList& list,
                 std::size_t observations, Pooling pooling, std::span<double> gradient);

}  // namespace detol::inline surrogate
