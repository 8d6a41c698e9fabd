#include "surrogate/kernel.h"

#include <cassert>
#include <cmath>

#include "surrogate/eigen_impl.h"

namespace detol::inline surrogate {
namespace {

using Row = Eigen::Map<Eigen::ArrayXd>;
using ConstRow = Eigen::Map<const Eigen::ArrayXd>;

const double kSqrt5 = std::sqrt(5.0);

// Rounds up to a multiple of the widest vector: exp() of a vector and of a single number differ in
// the last bit, so a value would depend on its place, and on the alignment of its array. Eigen's
// own arrays begin aligned.
Eigen::Index padded(std::size_t n) {
  return to_index((n + 7) / 8 * 8);
}

// Returns r^2 of x and n points, padded.
Eigen::ArrayXd squared_distances(const Metric& metric, const Point& x, const Points& points,
                                 std::size_t n, std::size_t first = 0) {
  Eigen::ArrayXd squares = Eigen::ArrayXd::Zero(padded(n));
  metric.add_squares(x, points, first, {squares.data(), n});
  return squares;
}

// Multiplies by exp(-sum_j w_j [c_j != c'_j]).
void scale_by_categories(const std::vector<double>& penalties, const Point& x, const Points& points,
                         std::size_t first, Row out) {
  for (std::size_t column = 0; column < penalties.size(); ++column) {
    const double share = std::exp(-penalties[column]);
    const std::span<const int> values = points.categories(column);
    const int own = x.categories[column];
    for (Eigen::Index i = 0; i < out.size(); ++i)
      out[i] *= values[first + static_cast<std::size_t>(i)] == own ? 1 : share;
  }
}

// Returns the graphs' kernel of x and the first n points.
std::vector<double> graph_row(const Point& x, const Points& points, int depth, std::size_t n) {
  std::vector<double> same(n);
  if (points.graph_index() != nullptr) {
    points.graph_index()->kernels(*x.graph, depth, same);
  } else {
    for (std::size_t i = 0; i < n; ++i)
      same[i] = graph_kernel(*x.graph, *points.graphs()[i], depth);
  }
  return same;
}

}  // namespace

KernelParameters default_parameters(const Features& features) {
  KernelParameters parameters;
  parameters.lengths.assign(features.lengths(), 0.5);
  parameters.penalties.assign(features.category_columns(), 0.5);
  parameters.shears.assign(features.shears(), 0);
  if (features.has_graph()) {
    parameters.numbers = 0.6;
    parameters.graphs = 0.3;
    parameters.both = 0.1;
  } else {
    parameters.graphs = parameters.both = 0;
  }
  return parameters;
}

std::vector<double> to_numbers(const KernelParameters& parameters) {
  std::vector<double> numbers = parameters.lengths;
  numbers.insert(numbers.end(), parameters.penalties.begin(), parameters.penalties.end());
  numbers.insert(numbers.end(), parameters.shears.begin(), parameters.shears.end());
  numbers.insert(numbers.end(), {parameters.numbers, parameters.graphs, parameters.both,
                                 parameters.noise, static_cast<double>(parameters.depth)});
  return numbers;
}

KernelParameters from_numbers(std::span<const double> numbers, const Features& features) {
  const auto take = [&](std::size_t count) {
    const std::span<const double> taken = numbers.first(count);
    numbers = numbers.subspan(count);
    return std::vector<double>(taken.begin(), taken.end());
  };
  KernelParameters parameters;
  parameters.lengths = take(features.lengths());
  parameters.penalties = take(features.category_columns());
  parameters.shears = take(features.shears());
  assert(numbers.size() == 5);
  parameters.numbers = numbers[0];
  parameters.graphs = numbers[1];
  parameters.both = numbers[2];
  parameters.noise = numbers[3];
  parameters.depth = static_cast<int>(numbers[4]);
  return parameters;
}

Kernel::Kernel(const Features& features, KernelParameters parameters)
    : parameters_(std::move(parameters)),
      metric_(features, parameters_.lengths, parameters_.shears) {
  assert(parameters_.penalties.size() == features.category_columns());
}

void Kernel::row(const Point& x, const Points& points, std::span<double> out,
                 std::size_t first) const {
  Row row(out.data(), to_index(out.size()));
  if (metric_.columns() == 0) {
    row.setOnes();
  } else {
    const Eigen::ArrayXd squares = squared_distances(metric_, x, points, out.size(), first);
    const Eigen::ArrayXd root = kSqrt5 * squares.sqrt();
    const Eigen::ArrayXd values = (1 + root + (5.0 / 3) * squares) * (-root).exp();
    row = values.head(row.size());
  }
  scale_by_categories(parameters_.penalties, x, points, first, row);
  if (parameters_.graphs == 0 && parameters_.both == 0) {
    row *= parameters_.numbers;
    return;
  }
  const std::vector<double> graphs = graph_row(x, points, parameters_.depth, first + out.size());
  const std::span<const double> same = std::span(graphs).subspan(first);
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = parameters_.numbers * out[i] + parameters_.graphs * same[i] +
             parameters_.both * out[i] * same[i];
  }
}

std::vector<double> Kernel::gradient(const Point& x, const Points& points,
                                     std::span<const double> weights) const {
  const std::size_t n = weights.size();
  const Eigen::ArrayXd squares = squared_distances(metric_, x, points, n);
  const Eigen::ArrayXd root = kSqrt5 * squares.head(to_index(n)).sqrt();
  // The derivative of the Matern kernel by r^2 is -5/6 (1 + sqrt(5) r) exp(-sqrt(5) r).
  Eigen::ArrayXd slope =
      (-5.0 / 6) * (1 + root) * (-root).exp() * ConstRow(weights.data(), to_index(n));
  scale_by_categories(parameters_.penalties, x, points, 0, Row(slope.data(), slope.size()));
  if (parameters_.graphs == 0 && parameters_.both == 0) {
    slope *= parameters_.numbers;
  } else {
    const std::vector<double> same = graph_row(x, points, parameters_.depth, n);
    for (std::size_t i = 0; i < n; ++i)
      slope[to_index(i)] *= parameters_.numbers + parameters_.both * same[i];
  }
  return metric_.gradient(x, points, std::span(slope.data(), n));
}

std::vector<double> Kernel::lower_gram(const Points& points) const {
  const std::size_t n = points.size();
  std::vector<double> gram(n * n);
  for (std::size_t i = 0; i < n; ++i) row(points[i], points, std::span(gram).subspan(i * n, i + 1));
  return gram;
}

std::vector<double> Kernel::gram(const Points& points) const {
  const std::size_t n = points.size();
  std::vector<double> gram = lower_gram(points);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < i; ++j) gram[j * n + i] = gram[i * n + j];
  }
  return gram;
}

}  // namespace detol::inline surrogate
