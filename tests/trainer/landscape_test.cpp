// The loss around a trained network: its directions, its path and its grid.

#include <cmath>

#include <gtest/gtest.h>

#include "tests/trainer/trial_runs.h"
#include "trainer/data/formats/formats.h"
#include "trainer/landscape/directions.h"
#include "trainer/landscape/losses.h"
#include "trainer/landscape/path.h"
#include "trainer/predict.h"

namespace detol {
namespace {

using testing_support::small_network;
using testing_support::TrialRuns;

double norm_of(std::span<const float> numbers) {
  double squares = 0;
  for (const float number : numbers) squares += static_cast<double>(number) * number;
  return std::sqrt(squares);
}

double product(const Weights& a, const Weights& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t at = 0; at < a[i].data.size(); ++at)
      sum += static_cast<double>(a[i].data[at]) * b[i].data[at];
  return sum;
}

TEST(LandscapeDirections, EveryFilterHasTheNormOfTheNetworksOwn) {
  const Network network = small_network({1, 12, 12}, 4);
  const Weights weights = initial_weights(network, 3);
  const Weights direction = filter_normalised_direction(network, weights, Rng(5));
  std::size_t filters = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const std::span<const float> own = weights[i].data, other = direction[i].data;
    if (weights[i].shape.size() < 2) {
      EXPECT_EQ(norm_of(other), 0) << weights[i].name;
      continue;
    }
    const std::size_t size = own.size() / static_cast<std::size_t>(weights[i].shape[0]);
    for (std::size_t first = 0; first < own.size(); first += size, ++filters) {
      const double norm = norm_of(own.subspan(first, size));
      EXPECT_GT(norm, 0);
      EXPECT_NEAR(norm_of(other.subspan(first, size)) / norm, 1, 1e-5) << weights[i].name;
    }
  }
  EXPECT_EQ(filters, 16U + 4U);
}

TEST(LandscapeDirections, DifferByTheirStreamAlone) {
  const Network network = small_network({1, 12, 12}, 4);
  const Weights weights = initial_weights(network, 3);
  const auto direction = [&](std::uint64_t seed) {
    return filter_normalised_direction(network, weights, Rng(seed));
  };
  const Weights one = direction(1);
  EXPECT_EQ(product(one, one), product(one, direction(1)));
  EXPECT_LT(std::abs(product(one, direction(2))), 0.2 * product(one, one));
}

// Returns initial weights, moved by x along one random direction and by y along another.
std::vector<Weights> planted(const Network& network,
                             const std::vector<std::pair<double, double>>& places) {
  const Weights from = initial_weights(network, 3);
  const Weights first = initial_weights(network, 4), second = initial_weights(network, 5);
  const std::vector<NetworkParameter> parameters = network.parameters();
  std::vector<Weights> path;
  for (const auto& [x, y] : places) {
    Weights& weights = path.emplace_back(from);
    for (std::size_t i = 0; i < weights.size(); ++i)
      for (std::size_t at = 0; parameters[i].spec.trainable && at < weights[i].data.size(); ++at)
        weights[i].data[at] += static_cast<float>(x * first[i].data[at] + y * second[i].data[at]);
  }
  return path;
}

TEST(LandscapePath, AStraightOneIsExplainedByItsFirstComponent) {
  const Network network = small_network({1, 12, 12}, 4);
  const PathPlane plane =
      plane_of_path(network, planted(network, {{0, 0}, {1, 0}, {1.5, 0}, {4, 0}}));
  EXPECT_NEAR(plane.explained[0], 1, 1e-9);
  EXPECT_LT(plane.explained[1], 1e-9);
  EXPECT_EQ(plane.x.back(), 0);
  EXPECT_NEAR(plane.x[1] / plane.x[0], 0.75, 1e-5);
  EXPECT_NEAR(plane.x[2] / plane.x[0], 0.625, 1e-5);
  EXPECT_LT(plane.x[0], 0);
}

TEST(LandscapePath, OneInAPlaneIsExplainedByTwoAndKeepsItsShape) {
  const Network network = small_network({1, 12, 12}, 4);
  const std::vector<Weights> path =
      planted(network, {{0, 0}, {3, 0.2}, {4, 1}, {4.2, 0.4}, {5, 0.5}});
  const PathPlane plane = plane_of_path(network, path);
  EXPECT_NEAR(plane.explained[0] + plane.explained[1], 1, 1e-9);
  EXPECT_GT(plane.explained[0], plane.explained[1]);
  EXPECT_NEAR(product(plane.first, plane.first), 1, 1e-5);
  EXPECT_NEAR(product(plane.second, plane.second), 1, 1e-5);
  EXPECT_NEAR(product(plane.first, plane.second), 0, 1e-5);
  EXPECT_EQ(plane.x.back(), 0);
  EXPECT_EQ(plane.y.back(), 0);
  for (std::size_t k = 0; k < path.size(); ++k) {
    double squares = 0;
    for (std::size_t i = 0; i < path[k].size(); ++i)
      for (std::size_t at = 0; at < path[k][i].data.size(); ++at)
        squares += std::pow(path[k][i].data[at] - path.back()[i].data[at], 2);
    EXPECT_NEAR(std::hypot(plane.x[k], plane.y[k]), std::sqrt(squares), 1e-4) << k;
  }
}

TEST(LandscapePath, ThatStandsStillHasNoDirections) {
  const Network network = small_network({1, 12, 12}, 4);
  const PathPlane plane = plane_of_path(network, planted(network, {{1, 1}, {1, 1}}));
  EXPECT_EQ(plane.explained[0], 0);
  EXPECT_EQ(product(plane.first, plane.first), 0);
}

TEST(LandscapeAxis, HasZeroAndCoversWhatItMust) {
  EXPECT_EQ(axis_around_zero(1, 5), (std::vector<double>{-1, -0.5, 0, 0.5, 1}));
  for (const auto& [low, high] : std::vector<std::pair<double, double>>{
           {-3, 0}, {-3, 0.1}, {0, 2}, {-1, 1}, {0, 0}, {-0.001, 7}}) {
    for (const int points : {3, 4, 21}) {
      const std::vector<double> axis = axis_over(low, high, points);
      ASSERT_EQ(axis.size(), static_cast<std::size_t>(points));
      EXPECT_LE(axis.front(), low);
      EXPECT_GE(axis.back(), high - 1e-12);
      EXPECT_NE(std::ranges::find(axis, 0.0), axis.end()) << low << " " << high << " " << points;
    }
  }
}

class LandscapeLosses : public TrialRuns {};

TEST_P(LandscapeLosses, AreTheReportedLossAtTheCentreAndHigherAroundIt) {
  const Job trained = job(testing_support::easy_recipe());
  const auto ran = run(trained);
  const Dataset images = load_dataset(testing_support::data()).value();
  const Network& network = trained.candidate.network;
  const Weights centre = newest_checkpoint(trained.folder, 1).value()->state.weights;
  const Weights first = filter_normalised_direction(network, centre, Rng(1)),
                second = filter_normalised_direction(network, centre, Rng(2));
  const auto axis = axis_around_zero(1, 3);
  const auto losses = losses_on({network, trained.candidate.recipe, images,
                                 range_of(images.info, DataSplit::kValidation), GetParam()},
                                {centre, first, second}, axis, axis)
                          .value();
  const double reported = testing_support::metric(ran.reports.back(), "val_loss");
  EXPECT_NEAR(losses[1][1], reported, 1e-6 * reported);
  double around = 0;
  for (const auto& row : losses)
    for (const double loss : row) around += loss / 8;
  EXPECT_GT(around - losses[1][1] / 8, losses[1][1]);
  EXPECT_NE(losses[1][0], losses[0][1]) << "the axes differ";
}

INSTANTIATE_TEST_SUITE_P(Cpu, LandscapeLosses, testing::Values("reference", "cpu"));

}  // namespace
}  // namespace detol
