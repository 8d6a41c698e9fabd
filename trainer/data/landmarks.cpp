#include "trainer/data/landmarks.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace detol::inline trainer {

// The sums are apart, so that they are added at the same time.
float squared_distance(const float* a, const float* b, std::size_t columns) {
  constexpr std::size_t kLanes = 8;
  float sums[kLanes] = {};
  std::size_t i = 0;
  for (; i + kLanes <= columns; i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const float difference = a[i + lane] - b[i + lane];
      sums[lane] += difference * difference;
    }
  }
  float sum = std::accumulate(std::begin(sums), std::end(sums), 0.0F);
  for (; i < columns; ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return sum;
}

namespace {

// Problem: what landmarks learn. The first `training` rows are learned from.
struct Problem {
  const Points& inputs;
  Points outputs;  // one column per class, 1 for the row's own, or per target
  std::size_t training = 0;
  bool has_labels = false;
};

Problem problem_of(const DataSample& sample, const Points& inputs) {
  Problem problem{inputs, {}, sample.rows * 2 / 3, !sample.labels.empty()};
  problem.outputs.rows = sample.rows;
  if (!problem.has_labels) {
    problem.outputs.columns = sample.outputs;
    problem.outputs.values = sample.targets;
    return problem;
  }
  problem.outputs.columns = sample.in_class.size();
  problem.outputs.values.resize(sample.rows * problem.outputs.columns);
  for (std::size_t i = 0; i < sample.rows; ++i)
    problem.outputs.row(i)[static_cast<std::size_t>(sample.labels[i])] = 1;
  return problem;
}

std::size_t largest_at(const float* row, std::size_t columns) {
  return static_cast<std::size_t>(std::max_element(row, row + columns) - row);
}

double accuracy(const Problem& problem, const Points& predicted) {
  std::size_t right = 0;
  const std::size_t classes = problem.outputs.columns;
  for (std::size_t i = 0; i < predicted.rows; ++i) {
    const float* const truth = problem.outputs.row(problem.training + i);
    right += largest_at(predicted.row(i), classes) == largest_at(truth, classes) ? 1 : 0;
  }
  return static_cast<double>(right) / static_cast<double>(predicted.rows);
}

// Returns the mean coefficient of determination of the targets.
double determination(const Problem& problem, const Points& predicted) {
  double total = 0;
  const std::size_t targets = problem.outputs.columns;
  for (std::size_t target = 0; target < targets; ++target) {
    double mean = 0, error = 0, spread = 0;
    for (std::size_t i = problem.training; i < problem.outputs.rows; ++i)
      mean += problem.outputs.row(i)[target] / static_cast<double>(predicted.rows);
    for (std::size_t i = 0; i < predicted.rows; ++i) {
      const double truth = problem.outputs.row(problem.training + i)[target];
      error += std::pow(predicted.row(i)[target] - truth, 2);
      spread += std::pow(truth - mean, 2);
    }
    total += spread > 0 ? std::max(-1.0, 1 - error / spread) : 0;
  }
  return total / static_cast<double>(targets);
}

double score(const Problem& problem, const Points& predicted) {
  return problem.has_labels ? accuracy(problem, predicted) : determination(problem, predicted);
}

// Predicts, for each row that is not learned from, the outputs of the nearest of `rows`.
double nearest_score(const Problem& problem, const Points& rows, const Points& outputs) {
  Points predicted{problem.inputs.rows - problem.training, outputs.columns, {}};
  for (std::size_t i = problem.training; i < problem.inputs.rows; ++i) {
    std::size_t nearest = 0;
    float least = std::numeric_limits<float>::infinity();
    for (std::size_t j = 0; j < rows.rows; ++j) {
      const float distance =
          squared_distance(problem.inputs.row(i), rows.row(j), problem.inputs.columns);
      if (distance >= least) continue;
      least = distance;
      nearest = j;
    }
    predicted.values.insert(predicted.values.end(), outputs.row(nearest),
                            outputs.row(nearest) + outputs.columns);
  }
  return score(problem, predicted);
}

double neighbour_score(const Problem& problem) {
  Points learned{problem.training, problem.inputs.columns, problem.inputs.values};
  return nearest_score(problem, learned, problem.outputs);
}

double centroid_score(const Problem& problem) {
  const std::size_t classes = problem.outputs.columns, columns = problem.inputs.columns;
  Points centroids{classes, columns, std::vector<float>(classes * columns)};
  std::vector<float> counts(classes);
  for (std::size_t i = 0; i < problem.training; ++i) {
    const std::size_t label = largest_at(problem.outputs.row(i), classes);
    ++counts[label];
    for (std::size_t column = 0; column < columns; ++column)
      centroids.row(label)[column] += problem.inputs.row(i)[column];
  }
  Points own{classes, classes, std::vector<float>(classes * classes)};
  for (std::size_t label = 0; label < classes; ++label) {
    own.row(label)[label] = 1;
    for (std::size_t column = 0; column < columns; ++column)
      centroids.row(label)[column] = counts[label] > 0
                                         ? centroids.row(label)[column] / counts[label]
                                         : std::numeric_limits<float>::max();
  }
  return nearest_score(problem, centroids, own);
}

// Solves A x = b for several b by Cholesky factors. `matrix` is n x n, `sides` n x m, which becomes
// the solution. REQUIRES: A is positive definite.
void solve(std::vector<double>& matrix, std::vector<double>& sides, std::size_t n) {
  const std::size_t m = sides.size() / n;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = matrix[i * n + j];
      for (std::size_t k = 0; k < j; ++k) sum -= matrix[i * n + k] * matrix[j * n + k];
      matrix[i * n + j] = i == j ? std::sqrt(sum) : sum / matrix[j * n + j];
    }
    for (std::size_t side = 0; side < m; ++side) {
      for (std::size_t k = 0; k < i; ++k)
        sides[i * m + side] -= matrix[i * n + k] * sides[k * m + side];
      sides[i * m + side] /= matrix[i * n + i];
    }
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t side = 0; side < m; ++side) {
      for (std::size_t k = i + 1; k < n; ++k)
        sides[i * m + side] -= matrix[k * n + i] * sides[k * m + side];
      sides[i * m + side] /= matrix[i * n + i];
    }
  }
}

// Fits all outputs by least squares with a small penalty; the last input is 1.
double ridge_score(const Problem& problem) {
  constexpr double kPenalty = 1e-2;  // of the mean square of an input, which is about 1
  const std::size_t n = problem.inputs.columns + 1, m = problem.outputs.columns;
  const auto input = [&](std::size_t row, std::size_t i) {
    return i + 1 < n ? static_cast<double>(problem.inputs.row(row)[i]) : 1.0;
  };
  std::vector<double> matrix(n * n), sides(n * m);
  for (std::size_t row = 0; row < problem.training; ++row) {
    for (std::size_t i = 0; i < n; ++i) {
      const double x = input(row, i);
      for (std::size_t j = 0; j <= i; ++j) matrix[i * n + j] += x * input(row, j);
      for (std::size_t k = 0; k < m; ++k) sides[i * m + k] += x * problem.outputs.row(row)[k];
    }
  }
  for (std::size_t i = 0; i < n; ++i)
    matrix[i * n + i] += kPenalty * static_cast<double>(problem.training);
  solve(matrix, sides, n);
  Points predicted{problem.inputs.rows - problem.training, m, {}};
  predicted.values.resize(predicted.rows * m);
  for (std::size_t row = 0; row < predicted.rows; ++row) {
    for (std::size_t i = 0; i < n; ++i) {
      const double x = input(problem.training + row, i);
      for (std::size_t k = 0; k < m; ++k)
        predicted.row(row)[k] += static_cast<float>(x * sides[i * m + k]);
    }
  }
  return score(problem, predicted);
}

}  // namespace

Landmarks landmarks_of(const DataSample& sample, const Points& inputs) {
  constexpr std::size_t kMostOutputs = 256;  // the time of the linear model grows with them
  const Problem problem = problem_of(sample, inputs);
  if (problem.outputs.columns == 0 || problem.outputs.columns > kMostOutputs) return {};
  Landmarks scores{neighbour_score(problem), std::nullopt, ridge_score(problem)};
  if (problem.has_labels) scores.nearest_centroid = centroid_score(problem);
  return scores;
}

}  // namespace detol::inline trainer
