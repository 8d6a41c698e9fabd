#pragma once

// The loss on a grid of a plane in the space of a network's weights.

#include <functional>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "encodings/network/network.h"
#include "encodings/study/recipe.h"
#include "trainer/backends/weights.h"
#include "trainer/data/dataset.h"

namespace detol::inline trainer {

// Returns `points` places from -reach to reach. REQUIRES: points is odd and at least 3.
std::vector<double> axis_around_zero(double reach, int points);

// Returns `points` equally distant places that contain 0 and cover low to high; 1 apart where both
// are 0. REQUIRES: low <= 0 <= high, points >= 3.
std::vector<double> axis_over(double low, double high, int points);

struct PlaneOfWeights {
  const Weights& centre;
  const Weights& first;
  const Weights& second;
};

// What the loss is of: the recipe's loss as it is scored (no dropout, no smoothing, running
// statistics of batch norm as they are at the centre).
struct LossOf {
  const Network& network;
  const Recipe& recipe;
  const Dataset& data;
  Range range;
  std::string_view backend;
};

// Returns the mean loss at centre + x first + y second, for every y, and in each for every x; not
// finite where the network overflows. `on_row` is called after each y. Errors: kUsage for an
// unknown backend; kInput for a network that the backend cannot run, or no memory.
Result<std::vector<std::vector<double>>> losses_on(
    const LossOf& what, const PlaneOfWeights& plane, const std::vector<double>& x,
    const std::vector<double>& y, const std::function<void()>& on_row = [] {});

}  // namespace detol::inline trainer
