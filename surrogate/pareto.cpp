// The hypervolume by slices, the recursion of WFG (While, Bradstreet and Barone, 2012, "A Fast Way
// of Calculating Exact Hypervolumes", IEEE TEC 16(1)): what a point dominates alone is what it
// dominates, less what the points after it dominate of that, which is the hypervolume of those
// points moved into its box. Points are sorted, worst last objective first, so all that are moved
// get the same last objective: it becomes a factor, and one objective less remains.
//
//   (1, 4) (2, 2) (4, 1) under (5, 5): sorted by the second objective, they dominate alone
//   (5 - 4) (5 - 1 - 3) = 1, (5 - 2) (5 - 2 - 1) = 6 and (5 - 1) (5 - 4) = 4, together 11.

#include "surrogate/pareto.h"

#include <algorithm>
#include <cassert>
#include <numeric>

namespace detol::inline surrogate {
namespace {

double volume(std::span<const Losses> points, std::span<const double> reference);

// Returns the points after `place`, moved into its box, without the last objective.
std::vector<Losses> limited(std::span<const Losses> points, std::size_t place) {
  std::vector<Losses> moved;
  for (const Losses& other : points.subspan(place + 1)) {
    Losses point;
    for (std::size_t i = 0; i + 1 < other.size(); ++i)
      point.push_back(std::max(other[i], points[place][i]));
    moved.push_back(std::move(point));
  }
  return moved;
}

// REQUIRES: sorted, worst last objective first; each point dominates the reference.
double volume_by_slices(std::span<const Losses> points, std::span<const double> reference) {
  const std::size_t last = reference.size() - 1;
  double sum = 0;
  for (std::size_t place = 0; place < points.size(); ++place) {
    double own = 1;
    for (std::size_t i = 0; i < last; ++i) own *= reference[i] - points[place][i];
    own -= volume(limited(points, place), reference.first(last));
    sum += own * (reference[last] - points[place][last]);
  }
  return sum;
}

// Adds, for two objectives, one rectangle per point, from it to the point before in the second
// objective. REQUIRES: a front, worst second objective first.
double volume_by_sweep(std::span<const Losses> front, std::span<const double> reference) {
  double sum = 0, ceiling = reference[1];
  for (const Losses& point : front) {
    sum += (reference[0] - point[0]) * (ceiling - point[1]);
    ceiling = point[1];
  }
  return sum;
}

// REQUIRES: each point dominates the reference.
double volume(std::span<const Losses> points, std::span<const double> reference) {
  if (points.empty()) return 0;
  std::vector<Losses> front = front_of(points);
  if (reference.size() == 1) return reference[0] - front[0][0];
  std::ranges::stable_sort(front, std::ranges::greater{},
                           [](const Losses& losses) { return losses.back(); });
  return reference.size() == 2 ? volume_by_sweep(front, reference)
                               : volume_by_slices(front, reference);
}

}  // namespace

bool covers(std::span<const double> a, std::span<const double> b) {
  assert(a.size() == b.size());
  return std::ranges::equal(a, b, std::ranges::less_equal{});
}

bool dominates(std::span<const double> a, std::span<const double> b) {
  return covers(a, b) && !covers(b, a);
}

std::vector<std::size_t> nondominated(std::span<const Losses> points) {
  // A point is covered only by points before it in lexicographic order, and if so by one of the
  // front. The last points of the front are the most likely to; with two objectives only the last
  // one can.
  std::vector<std::size_t> order(points.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) -> const Losses& { return points[i]; });
  std::vector<std::size_t> front;
  for (std::size_t i : order) {
    const auto covers_it = [&](std::size_t other) { return covers(points[other], points[i]); };
    if (std::none_of(front.rbegin(), front.rend(), covers_it)) front.push_back(i);
  }
  std::ranges::sort(front);
  return front;
}

std::vector<Losses> front_of(std::span<const Losses> points) {
  std::vector<Losses> front;
  for (std::size_t i : nondominated(points)) front.push_back(points[i]);
  return front;
}

double hypervolume(std::span<const Losses> points, std::span<const double> reference) {
  std::vector<Losses> inside;
  for (const Losses& point : points) {
    if (std::ranges::equal(point, reference, std::ranges::less{})) inside.push_back(point);
  }
  return volume(inside, reference);
}

}  // namespace detol::inline surrogate
