#pragma once

// maximise: climbs to a local maximum of a smooth function on a box, by L-BFGS (NLopt; Liu and
// Nocedal, 1989, Mathematical Programming 45). Pure; thread-safe if the function is.

#include <functional>
#include <span>
#include <vector>

namespace detol::inline surrogate {

// Returns the value at x and fills `gradient`, which is as long as x.
using Differentiable = std::function<double(std::span<const double> x, std::span<double> gradient)>;

struct Box {
  std::vector<double> low, high;
};

struct ClimbSettings {
  int max_evaluations = 50;
  double tolerance = 1e-4;  // relative change of the value at which it stops
};

struct Maximum {
  std::vector<double> x;
  double value = 0;
  int evaluations = 0;
};

// Returns the best point that was evaluated. A value that is not finite counts as very bad.
// REQUIRES: start lies in the box; low < high.
Maximum maximise(const Differentiable& function, std::span<const double> start, const Box& box,
                 const ClimbSettings& settings = {});

}  // namespace detol::inline surrogate
