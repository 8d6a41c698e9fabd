#pragma once

// Metric: the scaled distance r of the numbers of two points,
//
//   r^2 = sum_j ((z_j - z'_j) / l_j)^2        z_j = x_j + sum_(i < j) u_ji x_i
//
// with a length scale l for each number. The shears u are of the numbers that exist always
// (Features::sheared()); with them r^2 = (x - x')^T U^T diag(l)^-2 U (x - x') is any quadratic form
// of these (U is unit triangular), so that a valley of the outcomes may lie across the axes.
// Immutable; safe to share between threads.

#include <cstddef>
#include <span>
#include <vector>

#include "surrogate/features.h"
#include "surrogate/points.h"

namespace detol::inline surrogate {

class Metric {
 public:
  // REQUIRES: as many lengths and shears as the features have; the shears row by row.
  Metric(const Features& features, std::span<const double> lengths, std::span<const double> shears);

  std::size_t columns() const { return scales_.size(); }  // of numbers

  // Adds r^2 of x and points[first + i] to squares[i].
  void add_squares(const Point& x, const Points& points, std::size_t first,
                   std::span<double> squares) const;

  // Returns the gradient of sum_i weights[i] r^2(x, points[i]) by the columns of numbers of x.
  std::vector<double> gradient(const Point& x, const Points& points,
                               std::span<const double> weights) const;

  // Returns the distance along each axis alone at which r is 1, one per Features::lengths().
  std::vector<double> axis_lengths() const;

  // Returns the wave vector in x of one in z / l: U^T diag(l)^-1 w, by the columns of numbers.
  std::vector<double> wave_vector(std::vector<double> w) const;

 private:
  // Shear: z of `row` has `factor` times x of `column`.
  struct Shear {
    std::size_t row = 0, column = 0;
    double factor = 0;
  };

  // Calls visit(column, z - z') of x and `count` points for each column.
  template <typename Visit>
  void visit_differences(const Point& x, const Points& points, std::size_t first, std::size_t count,
                         Visit visit) const;

  void apply_transposed(std::vector<double>& by_mapped) const;  // U^T

  std::vector<std::size_t> length_of_;
  std::vector<double> scales_;  // 1 / l of each column
  std::vector<Shear> shears_;   // those that are not 0, by row, then by column
};

}  // namespace detol::inline surrogate
