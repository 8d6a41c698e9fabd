#pragma once

// Pareto fronts of several objectives, all minimised. A point is a list of losses, one per
// objective, none of them NaN. A point covers another if it is nowhere worse, and dominates it if
// it is somewhere better, too. Pure functions.

#include <cstddef>
#include <span>
#include <vector>

namespace detol::inline surrogate {

using Losses = std::vector<double>;

// REQUIRES: a and b have equally many objectives.
bool covers(std::span<const double> a, std::span<const double> b);
bool dominates(std::span<const double> a, std::span<const double> b);

// Returns the indices of the nondominated points, ascending; of equal points the first.
// O(m n log n + m n f) for m objectives and f points on the front.
std::vector<std::size_t> nondominated(std::span<const Losses> points);

// Returns the points at those indices.
std::vector<Losses> front_of(std::span<const Losses> points);

// Returns the volume that the points dominate below the reference point. Exact: O(n log n) for two
// objectives, O(n^(m - 1) log n) for m. Adequate for some hundred points and m up to 5.
double hypervolume(std::span<const Losses> points, std::span<const double> reference);

}  // namespace detol::inline surrogate
