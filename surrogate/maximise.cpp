#include "surrogate/maximise.h"

#include <nlopt.h>

#include <cassert>
#include <cmath>
#include <limits>
#include <memory>

namespace detol::inline surrogate {
namespace {

constexpr double kVeryBad = -1e100;

struct Climb {
  const Differentiable& function;
  Maximum best;
};

double evaluate(unsigned n, const double* x, double* gradient, void* state) {
  auto& climb = *static_cast<Climb*>(state);
  std::vector<double> slope(n);
  double value = climb.function({x, n}, slope);
  ++climb.best.evaluations;
  bool is_finite = std::isfinite(value);
  for (double each : slope) is_finite = is_finite && std::isfinite(each);
  if (!is_finite) {
    value = kVeryBad;
    slope.assign(n, 0);
  }
  if (gradient != nullptr) std::copy(slope.begin(), slope.end(), gradient);
  if (value > climb.best.value) {
    climb.best.value = value;
    climb.best.x.assign(x, x + n);
  }
  return value;
}

}  // namespace

Maximum maximise(const Differentiable& function, std::span<const double> start, const Box& box,
                 const ClimbSettings& settings) {
  assert(start.size() == box.low.size() && start.size() == box.high.size());
  Climb climb{
      function,
      {.x = {start.begin(), start.end()}, .value = -std::numeric_limits<double>::infinity()}};
  const std::unique_ptr<nlopt_opt_s, decltype(&nlopt_destroy)> optimizer(
      nlopt_create(NLOPT_LD_LBFGS, static_cast<unsigned>(start.size())), nlopt_destroy);
  nlopt_set_lower_bounds(optimizer.get(), box.low.data());
  nlopt_set_upper_bounds(optimizer.get(), box.high.data());
  nlopt_set_max_objective(optimizer.get(), evaluate, &climb);
  nlopt_set_maxeval(optimizer.get(), settings.max_evaluations);
  nlopt_set_ftol_rel(optimizer.get(), settings.tolerance);
  nlopt_set_ftol_abs(optimizer.get(), settings.tolerance);
  std::vector<double> x(start.begin(), start.end());
  double value = 0;
  (void)nlopt_optimize(optimizer.get(), x.data(), &value);  // a failure leaves the best so far
  return climb.best;
}

}  // namespace detol::inline surrogate
