#pragma once

// Acquisition functions: the worth of a measurement at a point, given the posterior there. Outcomes
// are minimised. Pure functions.

#include "surrogate/lazy_gp.h"

namespace detol::inline surrogate {

// AcquisitionValue: a value and its derivatives by the posterior's mean and by its variance.
struct AcquisitionValue {
  double value = 0;
  double by_mean = 0;
  double by_variance = 0;
};

// Returns the logarithm of the expected improvement on `best`, finite where the improvement itself
// underflows (Ament et al., 2023, "Unexpected Improvements to Expected Improvement for Bayesian
// Optimization", NeurIPS, arXiv 2310.20708):
//
//   EI = s h(u), u = (best - mean) / s, h(u) = phi(u) + u Phi(u)
//   log h(u) = log(phi(u) + u Phi(u))                                      for u > -1
//            = log phi(u) + log(1 - |u| sqrt(pi/2) erfcx(|u| / sqrt 2))    below
//            = log phi(u) - 2 log |u|                                      below -1e4
//
// REQUIRES: variance > 0.
AcquisitionValue log_expected_improvement(const Prediction& at, double best);

// Returns the negative lower confidence bound, -(mean - beta s); GP-UCB (Srinivas et al., 2010,
// ICML).
AcquisitionValue confidence_bound(const Prediction& at, double beta);

// Returns the logarithm of the probability that the function is at most `bound`, log Phi(u) with
// u = (bound - mean) / s: finite where the probability underflows. REQUIRES: variance > 0.
AcquisitionValue log_probability_below(const Prediction& at, double bound);

// Returns the probability itself; 0 or 1 without variance.
double probability_below(const Prediction& at, double bound);

// Returns the logarithm of improvement per work, log EI - exponent E[log work]: with exponent 1
// improvement counts per unit of work, with 0 work costs nothing (EI-cool: the exponent falls from
// 1 to 0 while the budget is spent; Lee, Perrone, Archambeau and Seeger, 2020, "Cost-aware Bayesian
// Optimization", arXiv 2003.10870). E[log work] is the logarithm of the median, so an uncertain
// work costs no more. The derivative by the mean of log work is -exponent.
double log_improvement_per_work(double log_improvement, const Prediction& log_work,
                                double exponent);

}  // namespace detol::inline surrogate
