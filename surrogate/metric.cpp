#include "surrogate/metric.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "surrogate/eigen_impl.h"

namespace detol::inline surrogate {

Metric::Metric(const Features& features, std::span<const double> lengths,
               std::span<const double> shears)
    : length_of_(features.length_of().begin(), features.length_of().end()) {
  assert(lengths.size() == features.lengths() && shears.size() == features.shears());
  for (std::size_t length : length_of_) scales_.push_back(1 / lengths[length]);
  const std::span<const std::size_t> columns = features.sheared();
  auto factor = shears.begin();
  for (std::size_t i = 1; i < columns.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j, ++factor) {
      if (*factor != 0) shears_.push_back({columns[i], columns[j], *factor});
    }
  }
}

template <typename Visit>
void Metric::visit_differences(const Point& x, const Points& points, std::size_t first,
                               std::size_t count, Visit visit) const {
  const auto from_x = [&](std::size_t column) {
    const std::span<const double> values = points.numbers(column).subspan(first, count);
    return Eigen::Map<const Eigen::ArrayXd>(values.data(), to_index(count)) - x.numbers[column];
  };
  auto shear = shears_.begin();
  for (std::size_t column = 0; column < scales_.size(); ++column) {
    if (shear == shears_.end() || shear->row != column) {
      visit(column, from_x(column));
      continue;
    }
    Eigen::ArrayXd difference = from_x(column);
    for (; shear != shears_.end() && shear->row == column; ++shear)
      difference += shear->factor * from_x(shear->column);
    visit(column, difference);
  }
}

void Metric::add_squares(const Point& x, const Points& points, std::size_t first,
                         std::span<double> squares) const {
  Eigen::Map<Eigen::ArrayXd> sums(squares.data(), to_index(squares.size()));
  visit_differences(x, points, first, squares.size(), [&](std::size_t column, const auto& by) {
    sums += (by * scales_[column]).square();
  });
}

std::vector<double> Metric::gradient(const Point& x, const Points& points,
                                     std::span<const double> weights) const {
  const Eigen::Map<const Eigen::ArrayXd> weight(weights.data(), to_index(weights.size()));
  std::vector<double> gradient(scales_.size());
  visit_differences(x, points, 0, weights.size(), [&](std::size_t column, const auto& by) {
    gradient[column] = -2 * scales_[column] * scales_[column] * (weight * by).sum();
  });
  apply_transposed(gradient);
  return gradient;
}

std::vector<double> Metric::axis_lengths() const {
  std::vector<double> squares(scales_.size());  // of what r grows by along each column alone
  for (std::size_t column = 0; column < scales_.size(); ++column)
    squares[column] = scales_[column] * scales_[column];
  for (const Shear& shear : shears_) {
    const double slope = shear.factor * scales_[shear.row];
    squares[shear.column] += slope * slope;
  }
  std::vector<double> lengths;
  for (std::size_t column = 0; column < scales_.size(); ++column) {
    lengths.resize(std::max(lengths.size(), length_of_[column] + 1));
    lengths[length_of_[column]] = 1 / std::sqrt(squares[column]);
  }
  return lengths;
}

std::vector<double> Metric::wave_vector(std::vector<double> w) const {
  for (std::size_t column = 0; column < scales_.size(); ++column) w[column] *= scales_[column];
  apply_transposed(w);
  return w;
}

// Rows ascend, so each is read before later ones are added to it.
void Metric::apply_transposed(std::vector<double>& by_mapped) const {
  for (const Shear& shear : shears_) by_mapped[shear.column] += shear.factor * by_mapped[shear.row];
}

}  // namespace detol::inline surrogate
