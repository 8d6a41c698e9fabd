// The weights are many and the points few, so that the components come from the Gram matrix of the
// points about their mean: with G u = l u, the component is the points' sum weighted by u, of
// length sqrt(l), and l is its share of the trace.

#include "trainer/landscape/path.h"

#include <cmath>

#include <Eigen/Dense>

namespace detol::inline trainer {
namespace {

constexpr double kFlat = 1e-12;  // share of the variance below which there is no component

// Returns the trainable weights of all points, a row for each.
Eigen::MatrixXd rows_of(const std::vector<NetworkParameter>& parameters,
                        std::span<const Weights> path) {
  Eigen::Index size = 0;
  for (const NetworkParameter& one : parameters)
    size += one.spec.trainable ? static_cast<Eigen::Index>(one.spec.elements()) : 0;
  Eigen::MatrixXd rows(static_cast<Eigen::Index>(path.size()), size);
  for (std::size_t point = 0; point < path.size(); ++point) {
    Eigen::Index at = 0;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (!parameters[i].spec.trainable) continue;
      for (const float number : path[point][i].data)
        rows(static_cast<Eigen::Index>(point), at++) = number;
    }
  }
  return rows;
}

Weights weights_of(const std::vector<NetworkParameter>& parameters, const Eigen::VectorXd& numbers,
                   Weights form) {
  Eigen::Index at = 0;
  for (std::size_t i = 0; i < form.size(); ++i) {
    for (float& number : form[i].data)
      number = parameters[i].spec.trainable ? static_cast<float>(numbers(at++)) : 0.0F;
  }
  return form;
}

}  // namespace

PathPlane plane_of_path(const Network& network, std::span<const Weights> path) {
  const std::vector<NetworkParameter> parameters = network.parameters();
  const Eigen::MatrixXd points = rows_of(parameters, path);
  const Eigen::MatrixXd centred = points.rowwise() - points.colwise().mean();
  const Eigen::MatrixXd gram = centred * centred.transpose();
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solved(gram);
  const Eigen::MatrixXd from_last = points.rowwise() - points.bottomRows<1>().row(0);
  PathPlane plane;
  for (Eigen::Index k = 0; k < 2; ++k) {
    const Eigen::Index column = gram.cols() - 1 - k;  // eigenvalues ascend
    const double value = solved.eigenvalues()(column), trace = gram.trace();
    Eigen::VectorXd direction = Eigen::VectorXd::Zero(points.cols());
    if (trace > 0 && value > kFlat * trace) {
      direction = centred.transpose() * solved.eigenvectors().col(column) / std::sqrt(value);
      plane.explained[static_cast<std::size_t>(k)] = value / trace;
    }
    Eigen::VectorXd along = from_last * direction;
    if (along(0) > 0) {
      along = -along;
      direction = -direction;
    }
    (k == 0 ? plane.x : plane.y).assign(along.begin(), along.end());
    (k == 0 ? plane.first : plane.second) = weights_of(parameters, direction, path.back());
  }
  return plane;
}

}  // namespace detol::inline trainer
