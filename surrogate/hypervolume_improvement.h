#pragma once

// HypervolumeImprovement: the expected growth, by one measurement, of the volume that the front
// dominates below a reference point, EHVI (Emmerich, Deutz and Klinkenberg, 2011, IEEE CEC). All
// objectives are minimised; their posteriors are independent normals.
//
// The region that no point of the front covers is cut into disjoint boxes (low, high), where low
// may be minus infinity. A point y improves a box by prod_j ((high_j - y_j)^+ - (low_j - y_j)^+),
// so that
//
//   EHVI = sum over boxes of prod_j (psi_j(high_j) - psi_j(low_j)),   psi_j(t) = E (t - y_j)^+
//
// where psi is an objective's expected improvement on t (acquisition.h). With two objectives the
// boxes are the n + 1 strips of Emmerich, Yang, Deutz, Wang and Fonseca, 2016, "A Multicriteria
// Generalization of Bayesian Global Optimization" (Advances in Stochastic and Deterministic Global
// Optimization); with three there are O(n) of them (Yang, Emmerich, Deutz and Baeck, 2017, EMO).
// All terms are positive, so the logarithm is stable (compare Ament et al., 2023, arXiv
// 2310.20708).

#include <cstddef>
#include <span>
#include <vector>

#include "surrogate/acquisition.h"
#include "surrogate/pareto.h"

namespace detol::inline surrogate {

// FreeBox: a box of the region that a front does not dominate.
struct FreeBox {
  Losses low, high;  // low may be minus infinity
  // NOLINTNEXTLINE(modernize-use-nullptr): clang-tidy 14 sees a 0 in a defaulted <=>
  friend auto operator<=>(const FreeBox& a, const FreeBox& b) = default;
};

// Cuts the region below the reference that none of the points covers into boxes. Stops early, with
// more than `most` boxes, if there are more. O(n log n) for two objectives, O(n^(m - 1)) for m.
std::vector<FreeBox> free_boxes(std::span<const Losses> points, std::span<const double> reference,
                                std::size_t most);

// Immutable; safe to share between threads.
class HypervolumeImprovement {
 public:
  // The result is exact up to kMostBoxes boxes; beyond, the front is rounded to its better side on
  // the finest grid that needs no more, and improvements below a cell of it count for less.
  static constexpr std::size_t kMostBoxes = 1000;

  // Points need not be a front; there may be none. For 100 points on the front a millisecond with
  // three objectives (201 boxes), 25 with four (628), some hundred with more, where it is rounded.
  HypervolumeImprovement(std::span<const Losses> points, Losses reference);

  // Value: the logarithm of the expected improvement and its derivatives, one per objective. Takes
  // about 0.1 microseconds per box and objective. REQUIRES: one posterior per objective, each with
  // variance > 0.
  struct Value {
    double value = 0;
    std::vector<double> by_mean, by_variance;
  };
  Value log_expected(std::span<const Prediction> at) const;

  std::size_t boxes() const { return count_; }
  const Losses& reference() const { return reference_; }

 private:
  // Axis: one objective's sides of the boxes, as indices into the list of all different ones.
  struct Axis {
    std::vector<double> sides;
    std::vector<std::size_t> low, high;  // one per box
  };
  void index_sides(const std::vector<FreeBox>& boxes);

  Losses reference_;
  std::size_t count_ = 0;
  std::vector<Axis> axes_;  // one per objective
};

// Returns the default reference point: a tenth of the front's range beyond the worst of the front
// in each objective, so that its ends count, too, but not more than all else (Ishibuchi, Imada,
// Setoguchi and Nojima, 2018, "How to Specify a Reference Point in Hypervolume Calculation for Fair
// Performance Comparison", Evolutionary Computation 26(3); the tenth is BoTorch's). A front without
// a range uses that of all points, and if that is none either, 1.
// REQUIRES: at least one point.
Losses reference_point(std::span<const Losses> points);

}  // namespace detol::inline surrogate
