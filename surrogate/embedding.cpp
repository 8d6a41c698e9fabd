// With E the n x d vectors of a task's graphs and y their scores, MLKR predicts each score from the
// others and minimises
//
//   sum_i (y_i - p_i)²,   p_i = sum_j W_ij y_j,   W_ij = exp(-|E_i - E_j|²) / sum_k exp(-|E_i -
//   E_k|²)
//
// where j and k differ from i. By the squared distance D_ij its slope is
// G_ij = 2 (y_i - p_i) W_ij (y_j - p_i), and by E it is 2 (diag(H 1) - H) E with H = G + G'.

#include "surrogate/embedding.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <numeric>

#include "surrogate/eigen_impl.h"
#include "surrogate/maximise.h"

namespace detol::inline surrogate {
namespace {

constexpr int kDepth = GraphFeatures::kLevels - 1;
constexpr Eigen::Index kDirections = 32;    // of the kernel PCA
constexpr Eigen::Index kLearned = 8;        // dimensions of a learned embedding
constexpr double kSmallestVariance = 1e-6;  // of a direction, as a share of the greatest
constexpr double kInitialScale = 4;         // exp(-d²) begins to tell neighbours from others
constexpr double kRidge = 0.1;              // per squared unit of the map
constexpr double kFarthestEntry = 100;      // of the map, from 0
constexpr int kEvaluations = 40;
constexpr std::size_t kSmallestTask = 5;  // tasks of fewer landmarks teach nothing

// LabelledTask: the landmarks of a task, and their scores by rank, of mean 0 and variance 1.
struct LabelledTask {
  std::vector<Eigen::Index> rows;
  Eigen::VectorXd targets;
};

// Returns the ranks from -1 to 1, divided by their deviation; equal scores share their mean rank.
Eigen::VectorXd ranked(const std::vector<double>& scores) {
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return scores[i]; });
  const auto n = static_cast<double>(scores.size());
  Eigen::VectorXd ranks(to_index(scores.size()));
  for (std::size_t first = 0, last = 0; first < order.size(); first = last) {
    while (last < order.size() && scores[order[last]] == scores[order[first]]) ++last;
    const double mean = static_cast<double>(first + last - 1) / 2;
    for (std::size_t i = first; i < last; ++i)
      ranks[to_index(order[i])] = std::sqrt(3.0) * (2 * (mean + 0.5) / n - 1);
  }
  return ranks;
}

// Returns the positions of the landmarks: of the graphs with scores, or of all.
std::vector<std::size_t> landmarks_of(std::size_t graphs, std::span<const TaskScores> tasks) {
  std::vector<std::size_t> chosen;
  for (const TaskScores& task : tasks)
    chosen.insert(chosen.end(), task.graphs.begin(), task.graphs.end());
  std::ranges::sort(chosen);
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  if (chosen.size() < Embedding::kFewestScores) {
    chosen.resize(graphs);
    std::iota(chosen.begin(), chosen.end(), 0);
  }
  const std::size_t n = std::min(chosen.size(), Embedding::kLandmarks);
  std::vector<std::size_t> landmarks;
  for (std::size_t i = 0; i < n; ++i) landmarks.push_back(chosen[i * chosen.size() / n]);
  return landmarks;
}

std::vector<LabelledTask> labelled_tasks(std::span<const std::size_t> landmarks,
                                         std::span<const TaskScores> tasks) {
  std::vector<LabelledTask> labelled;
  for (const TaskScores& task : tasks) {
    assert(task.graphs.size() == task.scores.size());
    LabelledTask of;
    std::vector<double> scores;
    for (std::size_t i = 0; i < task.graphs.size(); ++i) {
      const auto found = std::ranges::lower_bound(landmarks, task.graphs[i]);
      if (found == landmarks.end() || *found != task.graphs[i]) continue;
      of.rows.push_back(found - landmarks.begin());
      scores.push_back(task.scores[i]);
    }
    if (scores.size() < kSmallestTask) continue;
    of.targets = ranked(scores);
    labelled.push_back(std::move(of));
  }
  return labelled;
}

// Adds the negative squared error of a task to the value, and its slope by the vectors.
double add_task(const LabelledTask& task, const Eigen::MatrixXd& vectors, Eigen::MatrixXd& slope) {
  const Eigen::MatrixXd e = vectors(task.rows, Eigen::all);
  const Eigen::VectorXd& y = task.targets;
  const Eigen::VectorXd squares = e.rowwise().squaredNorm();
  Eigen::MatrixXd weights = -2 * e * e.transpose();
  weights.colwise() += squares;
  weights.rowwise() += squares.transpose();
  weights.diagonal().setConstant(std::numeric_limits<double>::infinity());
  const Eigen::VectorXd nearest = weights.rowwise().minCoeff();
  weights = (-(weights.colwise() - nearest)).array().exp().matrix();
  weights.array().colwise() /= weights.rowwise().sum().array();
  const Eigen::VectorXd predicted = weights * y;
  const Eigen::VectorXd errors = y - predicted;
  Eigen::MatrixXd by_distance = 2 * weights;
  by_distance.array() *= (y.transpose().replicate(y.size(), 1).colwise() - predicted).array();
  by_distance.array().colwise() *= errors.array();
  by_distance += by_distance.transpose().eval();
  const Eigen::VectorXd sums = by_distance.rowwise().sum();
  slope(task.rows, Eigen::all) -= 2 * (sums.asDiagonal() * e - by_distance * e);
  return -errors.squaredNorm();
}

// Returns the map (directions x dimensions) that MLKR finds from a scaled identity.
Eigen::MatrixXd learned_map(const Eigen::MatrixXd& coordinates,
                            std::span<const LabelledTask> tasks) {
  const Eigen::Index directions = coordinates.cols();
  const Eigen::Index dimensions = std::min(directions, kLearned);
  const Eigen::MatrixXd start = kInitialScale * Eigen::MatrixXd::Identity(directions, dimensions);
  const auto value = [&](std::span<const double> x, std::span<double> gradient) {
    const Eigen::Map<const Eigen::MatrixXd> map(x.data(), directions, dimensions);
    Eigen::Map<Eigen::MatrixXd> by_map(gradient.data(), directions, dimensions);
    const Eigen::MatrixXd vectors = coordinates * map;
    Eigen::MatrixXd by_vectors = Eigen::MatrixXd::Zero(vectors.rows(), vectors.cols());
    double sum = -kRidge * (map - start).squaredNorm();
    for (const LabelledTask& task : tasks) sum += add_task(task, vectors, by_vectors);
    by_map = coordinates.transpose() * by_vectors - 2 * kRidge * (map - start);
    return sum;
  };
  const auto n = static_cast<std::size_t>(start.size());
  const Box box{.low = std::vector<double>(n, -kFarthestEntry),
                .high = std::vector<double>(n, kFarthestEntry)};
  const Maximum best = maximise(value, {start.data(), n}, box, {.max_evaluations = kEvaluations});
  return Eigen::Map<const Eigen::MatrixXd>(best.x.data(), directions, dimensions);
}

}  // namespace

Embedding Embedding::fitted(std::span<const GraphFeatures> graphs,
                            std::span<const TaskScores> tasks) {
  assert(!graphs.empty());
  const std::vector<std::size_t> landmarks = landmarks_of(graphs.size(), tasks);
  Embedding embedding;
  const Eigen::Index n = to_index(landmarks.size());
  RowMajor kernels(n, n);
  for (const std::size_t landmark : landmarks) embedding.landmarks_.push_back(graphs[landmark]);
  for (Eigen::Index i = 0; i < n; ++i)
    embedding.landmarks_.kernels(graphs[landmarks[static_cast<std::size_t>(i)]], kDepth,
                                 {kernels.row(i).data(), landmarks.size()});
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(kernels);
  const Eigen::VectorXd& variances = solver.eigenvalues();  // the greatest last
  Eigen::Index directions = 0;
  while (directions < std::min(n, kDirections) &&
         variances[n - 1 - directions] >= kSmallestVariance * variances[n - 1])
    ++directions;
  // A graph's coordinates are this times its kernels with the landmarks.
  Eigen::MatrixXd main(n, directions);
  for (Eigen::Index i = 0; i < directions; ++i)
    main.col(i) = solver.eigenvectors().col(n - 1 - i) / std::sqrt(variances[n - 1 - i]);

  const std::vector<LabelledTask> labelled = labelled_tasks(landmarks, tasks);
  std::size_t scores = 0;
  for (const LabelledTask& task : labelled) scores += task.rows.size();
  embedding.is_learned_ = scores >= kFewestScores;
  const RowMajor map = embedding.is_learned_
                           ? RowMajor((main * learned_map(kernels * main, labelled)).transpose())
                           : RowMajor(kInitialScale * main.transpose());
  embedding.dimensions_ = static_cast<std::size_t>(map.rows());
  embedding.map_.assign(map.data(), map.data() + map.size());
  return embedding;
}

std::vector<double> Embedding::of(const GraphFeatures& graph) const {
  const std::size_t n = landmarks_.size();
  std::vector<double> kernels(n), vector(dimensions_);
  landmarks_.kernels(graph, kDepth, kernels);
  for (std::size_t i = 0; i < dimensions_; ++i)
    vector[i] = std::inner_product(kernels.begin(), kernels.end(),
                                   map_.begin() + static_cast<std::ptrdiff_t>(i * n), 0.0);
  return vector;
}

double distance(std::span<const double> a, std::span<const double> b) {
  assert(a.size() == b.size());
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(sum);
}

double predict_by_neighbours(std::span<const std::vector<double>> vectors,
                             std::span<const double> scores, std::span<const double> at) {
  assert(vectors.size() == scores.size() && !vectors.empty());
  std::vector<double> squares;
  for (const std::vector<double>& vector : vectors)
    squares.push_back(std::pow(distance(vector, at), 2));
  const double nearest = std::ranges::min(squares);  // keeps the greatest weight at 1
  double sum = 0, weights = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const double weight = std::exp(nearest - squares[i]);
    sum += weight * scores[i];
    weights += weight;
  }
  return sum / weights;
}

}  // namespace detol::inline surrogate
