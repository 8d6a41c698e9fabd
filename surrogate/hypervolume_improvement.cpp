// The boxes are found by slices: between two neighbouring values of the last objective, the free
// region is what the points below leave free in the other objectives. A box that is the same in the
// next slice continues there, which keeps the number of boxes low.
//
//   (1, 4) (2, 2) (4, 1) under (5, 5), sorted by the second objective: below 1 all is free, and
//   then f1 < 4 between 1 and 2, f1 < 2 between 2 and 4, f1 < 1 between 4 and 5.

#include "surrogate/hypervolume_improvement.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <map>

#include "surrogate/arithmetic_impl.h"

namespace detol::inline surrogate {
namespace {

constexpr double kFinestGrid = 512;  // cells from the best to the reference
constexpr double kBeyond = 0.1;      // share of the front's range added to its worst

// Slices: boxes of all objectives but the last, which grow along the last.
class Slices {
 public:
  // Begins a slice at `at`, in which these boxes and no others are free.
  void set(std::vector<FreeBox> free, double at) {
    std::map<FreeBox, double> next;
    for (FreeBox& box : free) {
      const auto going_on = open_.find(box);
      const double start = going_on == open_.end() ? at : going_on->second;
      if (going_on != open_.end()) open_.erase(going_on);
      next.emplace(std::move(box), start);
    }
    close(at);
    open_ = std::move(next);
  }

  std::size_t size() const { return open_.size() + closed_.size(); }

  std::vector<FreeBox> finish(double at) {
    close(at);
    return std::move(closed_);
  }

 private:
  void close(double at) {
    for (const auto& [box, start] : open_) {
      closed_.push_back(box);
      closed_.back().low.push_back(start);
      closed_.back().high.push_back(at);
    }
    open_.clear();
  }

  std::map<FreeBox, double> open_;  // boxes that still grow, and where each starts
  std::vector<FreeBox> closed_;
};

// REQUIRES: points sorted by the last objective, each below the reference in all of them.
std::vector<FreeBox> boxes_by_slices(std::span<const Losses> points,
                                     std::span<const double> reference, std::size_t most) {
  const std::size_t last = reference.size() - 1;
  std::vector<Losses> below;
  Slices slices;
  slices.set(free_boxes(below, reference.first(last), most), -kInfinity);
  for (std::size_t i = 0; i < points.size() && slices.size() <= most; ++i) {
    below.emplace_back(points[i].begin(), points[i].end() - 1);
    if (i + 1 < points.size() && points[i + 1][last] == points[i][last]) continue;
    below = front_of(below);
    slices.set(free_boxes(below, reference.first(last), most), points[i][last]);
  }
  return slices.finish(reference[last]);
}

// Returns the front with each coordinate rounded to its better side, on a grid of so many cells
// from the best of the points to the reference.
std::vector<Losses> rounded(std::span<const Losses> front, std::span<const double> reference,
                            double cells) {
  std::vector<Losses> points(front.begin(), front.end());
  for (std::size_t j = 0; j < reference.size(); ++j) {
    double best = reference[j];
    for (const Losses& point : front) best = std::min(best, point[j]);
    const double cell = (reference[j] - best) / cells;
    for (Losses& point : points) point[j] = best + cell * std::floor((point[j] - best) / cell);
  }
  return front_of(points);
}

std::vector<Losses> inside(std::span<const Losses> points, std::span<const double> reference) {
  std::vector<Losses> inside;
  for (const Losses& point : points) {
    if (std::ranges::equal(point, reference, std::ranges::less{})) inside.push_back(point);
  }
  return inside;
}

struct Side {
  double at = 0;
  AcquisitionValue log_psi;  // unset at minus infinity
};

std::vector<Side> log_psi(const Prediction& at, std::span<const double> sides) {
  std::vector<Side> found;
  for (double side : sides) {
    const bool is_open = side == -kInfinity;
    found.push_back({side, is_open ? AcquisitionValue{} : log_expected_improvement(at, side)});
  }
  return found;
}

// Returns log (psi(high) - psi(low)) of the posterior `at`, and its derivatives.
AcquisitionValue log_difference(const Prediction& at, const Side& low, const Side& high) {
  if (low.at == -kInfinity) return high.log_psi;
  const double share = std::exp(low.log_psi.value - high.log_psi.value);
  if (share < 1 - 1e-4) {
    return {
        .value = high.log_psi.value + std::log1p(-share),
        .by_mean = (high.log_psi.by_mean - share * low.log_psi.by_mean) / (1 - share),
        .by_variance = (high.log_psi.by_variance - share * low.log_psi.by_variance) / (1 - share)};
  }
  // The box is so narrow that the difference would cancel: the midpoint rule applies, as psi' =
  // Phi, with its derivatives by the mean, -phi / s, and by the variance, -u phi / (2 s^2), in
  // terms of psi's.
  const double middle = 0.5 * (low.at + high.at);
  const AcquisitionValue psi = log_expected_improvement(at, middle);
  const double s = std::sqrt(at.variance);
  const double hazard = 2 * s * psi.by_variance / -psi.by_mean;  // phi / Phi
  return {.value = std::log(high.at - low.at) + psi.value + std::log(-psi.by_mean),
          .by_mean = -hazard / s,
          .by_variance = -(middle - at.mean) / s * hazard / (2 * at.variance)};
}

}  // namespace

std::vector<FreeBox> free_boxes(std::span<const Losses> points, std::span<const double> reference,
                                std::size_t most) {
  std::vector<Losses> front = front_of(inside(points, reference));
  if (reference.size() == 1) {
    const double high = front.empty() ? reference[0] : front[0][0];
    return {{.low = {-kInfinity}, .high = {high}}};
  }
  std::ranges::stable_sort(front, {}, [](const Losses& losses) { return losses.back(); });
  return boxes_by_slices(front, reference, most);
}

HypervolumeImprovement::HypervolumeImprovement(std::span<const Losses> points, Losses reference)
    : reference_(std::move(reference)) {
  const std::vector<Losses> front = front_of(inside(points, reference_));
  std::vector<FreeBox> boxes = free_boxes(front, reference_, kMostBoxes);
  for (double cells = kFinestGrid; boxes.size() > kMostBoxes; cells /= 4)
    boxes = free_boxes(rounded(front, reference_, cells), reference_, kMostBoxes);
  index_sides(boxes);
}

void HypervolumeImprovement::index_sides(const std::vector<FreeBox>& boxes) {
  count_ = boxes.size();
  for (std::size_t j = 0; j < reference_.size(); ++j) {
    Axis axis;
    for (const FreeBox& box : boxes) {
      axis.sides.push_back(box.low[j]);
      axis.sides.push_back(box.high[j]);
    }
    std::ranges::sort(axis.sides);
    axis.sides.erase(std::unique(axis.sides.begin(), axis.sides.end()), axis.sides.end());
    const auto place_of = [&](double side) {
      return static_cast<std::size_t>(std::ranges::lower_bound(axis.sides, side) -
                                      axis.sides.begin());
    };
    for (const FreeBox& box : boxes) {
      axis.low.push_back(place_of(box.low[j]));
      axis.high.push_back(place_of(box.high[j]));
    }
    axes_.push_back(std::move(axis));
  }
}

HypervolumeImprovement::Value HypervolumeImprovement::log_expected(
    std::span<const Prediction> at) const {
  const std::size_t objectives = reference_.size();
  assert(at.size() == objectives);
  std::vector<AcquisitionValue> factors(count_ * objectives);
  std::vector<double> logs(count_, 0);
  for (std::size_t j = 0; j < objectives; ++j) {
    const std::vector<Side> sides = log_psi(at[j], axes_[j].sides);
    for (std::size_t i = 0; i < count_; ++i) {
      AcquisitionValue& factor = factors[i * objectives + j];
      factor = log_difference(at[j], sides[axes_[j].low[i]], sides[axes_[j].high[i]]);
      logs[i] += factor.value;
    }
  }
  const double greatest = *std::ranges::max_element(logs);
  Value sum{greatest, std::vector<double>(objectives), std::vector<double>(objectives)};
  if (!std::isfinite(greatest)) return sum;
  double total = 0;
  for (double log : logs) total += std::exp(log - greatest);
  sum.value += std::log(total);
  for (std::size_t i = 0; i < count_; ++i) {
    const double share = std::exp(logs[i] - sum.value);
    for (std::size_t j = 0; share > 0 && j < objectives; ++j) {
      sum.by_mean[j] += share * factors[i * objectives + j].by_mean;
      sum.by_variance[j] += share * factors[i * objectives + j].by_variance;
    }
  }
  return sum;
}

Losses reference_point(std::span<const Losses> points) {
  assert(!points.empty());
  const std::vector<Losses> front = front_of(points);
  const auto extremes = [](std::span<const Losses> of, std::size_t objective) {
    return std::ranges::minmax(of, {}, [=](const Losses& losses) { return losses[objective]; });
  };
  Losses reference;
  for (std::size_t j = 0; j < points[0].size(); ++j) {
    const auto [best, worst] = extremes(front, j);
    const auto [best_of_all, worst_of_all] = extremes(points, j);
    double range = worst[j] - best[j];
    if (!(range > 0)) range = worst_of_all[j] - best_of_all[j];
    reference.push_back(worst[j] + kBeyond * (range > 0 ? range : 1));
  }
  return reference;
}

}  // namespace detol::inline surrogate
