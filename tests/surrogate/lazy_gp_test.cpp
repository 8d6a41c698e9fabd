#include "surrogate/lazy_gp.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "core/rng.h"
#include "tests/surrogate/dense.h"

namespace detol {
namespace {

Space numbers(std::size_t count) {
  SpaceBuilder builder;
  for (std::size_t i = 0; i < count; ++i) builder.add_float("x" + std::to_string(i), 0, 1);
  return builder.build().value();
}

struct Data {
  std::vector<Point> points;
  std::vector<double> y;
};

Point random_point(const Features& features, Rng& rng) {
  Point point;
  for (std::size_t i = 0; i < features.number_columns(); ++i)
    point.numbers.push_back(rng.uniform());
  return point;
}

// Dense computes mean, variance and likelihood by the textbook.
struct Dense {
  Dense(const Kernel& kernel_, const Features& features, const Data& data_)
      : kernel(kernel_), data(data_), points(features.empty_points()) {
    for (const Point& point : data.points) points.push_back(point);
    const std::size_t n = data.y.size();
    std::vector<double> gram = kernel.gram(points);
    for (std::size_t i = 0; i < n; ++i) gram[i * n + i] += kernel.parameters().noise;
    factor = dense::factor(gram, n);
    const std::vector<double> ones(n, 1);
    m = dense::dot(data.y, dense::solve(factor, ones)) /
        dense::dot(ones, dense::solve(factor, ones));
    for (double y : data.y) residual.push_back(y - m);
    weights = dense::solve(factor, residual);
  }

  Prediction predict(const Point& x) const {
    std::vector<double> k(points.size());
    kernel.row(x, points, k);
    return {.mean = m + dense::dot(k, weights),
            .variance = kernel.variance() - dense::dot(k, dense::solve(factor, k))};
  }

  double log_likelihood() const {
    const double n = static_cast<double>(data.y.size());
    double determinant = 0;
    for (std::size_t i = 0; i < data.y.size(); ++i)
      determinant += 2 * std::log(factor[i * data.y.size() + i]);
    return -0.5 * (dense::dot(residual, weights) + determinant + n * std::log(2 * M_PI));
  }

  const Kernel& kernel;
  const Data& data;
  Points points;
  std::vector<double> factor, residual, weights;
  double m = 0;
};

void expect_equal(const LazyGp& process, const Features& features, const Data& data, Rng& rng) {
  const Dense dense(process.kernel(), features, data);
  EXPECT_NEAR(process.log_likelihood(), dense.log_likelihood(),
              1e-8 * std::max(1.0, std::abs(dense.log_likelihood())));
  const std::vector<Prediction> pooled = process.predict_candidates();
  for (int i = 0; i < 5; ++i) {
    const Point x = random_point(features, rng);
    const Prediction lazy = process.predict(x), exact = dense.predict(x);
    EXPECT_NEAR(lazy.mean, exact.mean, 1e-8);
    EXPECT_NEAR(lazy.variance, exact.variance, 1e-8);
  }
  for (std::size_t i = 0; i < pooled.size(); ++i) {
    const Prediction exact = dense.predict(process.candidates()[i]);
    EXPECT_NEAR(pooled[i].mean, exact.mean, 1e-4);
    EXPECT_NEAR(pooled[i].variance, exact.variance, 1e-4);
  }
}

TEST(LazyGp, EqualsADenseProcessAfterTwoThousandAppendsPopsAndRefits) {
  const Features features(numbers(3));
  KernelParameters parameters = default_parameters(features);
  LazyGp process(features, parameters);
  Rng rng(4);
  Points candidates = features.empty_points();
  for (int i = 0; i < 6; ++i) candidates.push_back(random_point(features, rng));
  process.attach(candidates);
  Data data;
  for (int step = 0; step < 2000; ++step) {
    const double draw = rng.uniform();
    if (draw < 0.7 || data.y.size() < 3) {
      data.points.push_back(random_point(features, rng));
      data.y.push_back(std::sin(5 * data.points.back().numbers[0]) + rng.normal());
      process.append(data.points.back(), data.y.back());
    } else if (draw < 0.985) {
      const std::size_t left =
          data.y.size() - std::min<std::size_t>(data.y.size(), 1 + rng.below(3));
      data.points.resize(left);
      data.y.resize(left);
      process.truncate(left);
    } else {
      for (double& length : parameters.lengths) length = rng.uniform(0.1, 1);
      parameters.noise = std::pow(10, rng.uniform(-4, -1));
      Points points = features.empty_points();
      for (const Point& point : data.points) points.push_back(point);
      process = LazyGp(features, parameters, points, data.y);
      process.attach(candidates);
    }
    if (step % 200 == 199 && data.y.size() > 1) expect_equal(process, features, data, rng);
  }
}

TEST(LazyGp, SurvivesFiftyCopiesOfAPointAlmostWithoutNoise) {
  const Features features(numbers(2));
  KernelParameters parameters = default_parameters(features);
  parameters.noise = 1e-10;
  LazyGp process(features, parameters);
  const Point x{.numbers = {0.3, 0.6}, .categories = {}, .graph = nullptr};
  for (int i = 0; i < 50; ++i) process.append(x, i % 2);
  EXPECT_EQ(process.observations(), 50u);
  EXPECT_NEAR(process.predict(x).mean, 0.5, 1e-3);
}

TEST(LazyGp, AFantasyChangesNoMeanAndLeavesNothingToLearnAtItsPoint) {
  const Features features(numbers(2));
  LazyGp process(features, default_parameters(features));
  Rng rng(9);
  for (int i = 0; i < 12; ++i) {
    const Point x = random_point(features, rng);
    process.append(x, 3 + std::sin(5 * x.numbers[0]));
  }
  const Point imagined = random_point(features, rng), other = random_point(features, rng);
  const Prediction there = process.predict(imagined), elsewhere = process.predict(other);
  LazyGp::Begun begun;
  process.append_fantasy(imagined, begun);
  EXPECT_NEAR(process.predict(imagined).mean, there.mean, 1e-9);
  EXPECT_NEAR(process.predict(other).mean, elsewhere.mean, 1e-9);
  EXPECT_LE(process.predict(imagined).variance, process.kernel().parameters().noise);
}

TEST(LazyGp, FantasiesThatWereBegunBeforeAreTheSameToTheLastBit) {
  const Features features(numbers(2));
  Rng rng(10);
  LazyGp process(features, default_parameters(features)),
      fresh(features, default_parameters(features));
  Points candidates = features.empty_points();
  std::vector<Point> pending;
  for (int i = 0; i < 30; ++i) {
    candidates.push_back(random_point(features, rng));
    pending.push_back(random_point(features, rng));
  }
  process.attach(candidates);
  fresh.attach(candidates);
  std::vector<LazyGp::Begun> begun(pending.size());
  for (std::size_t first = 0; first < 20; ++first) {
    const Point x = random_point(features, rng);
    for (LazyGp* each : {&process, &fresh}) {
      each->truncate(first);
      each->append(x, static_cast<double>(first % 3));
    }
    const bool is_used = first % 3 != 1;  // the candidates' posterior, which may lag meanwhile
    for (std::size_t i = first; i < first + 10; ++i) {
      LazyGp::Begun none;
      process.append_fantasy(pending[i], begun[i]);
      if (is_used) process.update_candidates(i + 1, begun[i]);
      fresh.append_fantasy(pending[i], none);
      fresh.update_candidates(i + 1, none);
    }
    if (!is_used) continue;
    const std::vector<Prediction> at = process.predict_candidates(),
                                  as = fresh.predict_candidates();
    const auto same = [](const Prediction& a, const Prediction& b) {
      return a.mean == b.mean && a.variance == b.variance;
    };
    EXPECT_TRUE(std::ranges::equal(at, as, same)) << first;
    EXPECT_TRUE(same(process.predict(pending[29]), fresh.predict(pending[29]))) << first;
  }
}

TEST(LazyGp, AMeasurementWhereAFantasyWasIsTheSameToTheLastBit) {
  const Features features(numbers(2));
  Rng rng(10);
  LazyGp process(features, default_parameters(features)),
      fresh(features, default_parameters(features));
  Points candidates = features.empty_points();
  for (int i = 0; i < 30; ++i) candidates.push_back(random_point(features, rng));
  process.attach(candidates);
  fresh.attach(candidates);
  for (std::size_t measured = 0; measured < 20; measured += 2) {
    const Point x = random_point(features, rng), between = random_point(features, rng);
    LazyGp::Begun begun;
    process.append_fantasy(x, begun);
    process.update_candidates(measured, begun);
    process.truncate(measured);
    for (LazyGp* each : {&process, &fresh}) each->append(between, 1);
    process.append(x, 2, std::move(begun));
    fresh.append(x, 2);
    EXPECT_TRUE(
        std::ranges::equal(process.factor().row(measured + 1), fresh.factor().row(measured + 1)));
    const std::vector<Prediction> at = process.predict_candidates(),
                                  as = fresh.predict_candidates();
    for (std::size_t i = 0; i < at.size(); ++i) {
      EXPECT_EQ(at[i].mean, as[i].mean);
      EXPECT_EQ(at[i].variance, as[i].variance);
    }
  }
}

TEST(LazyGp, DroppingMergedFantasiesRestoresTheProcess) {
  const Features features(numbers(1));
  KernelParameters parameters = default_parameters(features);
  parameters.noise = 1e-16;
  LazyGp process(features, parameters);
  process.append({.numbers = {0.2}, .categories = {}, .graph = nullptr}, 1);
  process.append({.numbers = {0.8}, .categories = {}, .graph = nullptr}, 2);
  const Prediction before = process.predict(process.points()[0]);
  for (int i = 0; i < 3; ++i)
    process.append({.numbers = {0.2}, .categories = {}, .graph = nullptr}, 7);
  EXPECT_EQ(process.rows(), 2u);
  process.truncate(2);
  EXPECT_EQ(process.predict(process.points()[0]).mean, before.mean);
}

TEST(LazyGp, ACorrectedOutcomeIsAsIfItHadBeenTheFirst) {
  const Features features(numbers(2));
  LazyGp corrected(features, default_parameters(features)),
      straight(features, default_parameters(features));
  Rng rng(2);
  for (int i = 0; i < 20; ++i) {
    const Point x = random_point(features, rng);
    corrected.append(x, i == 7 ? 99 : i);
    straight.append(x, i);
  }
  corrected.replace(7, 7);
  const Point x = random_point(features, rng);
  EXPECT_EQ(corrected.predict(x).mean, straight.predict(x).mean);
}

TEST(LazyGp, OfSeveralOutcomesAtOnePointTheMeanCountsHoweverTheyCame) {
  const Features features(numbers(1));
  KernelParameters parameters = default_parameters(features);
  parameters.noise = 1e-16;
  LazyGp process(features, parameters);
  const Point here{.numbers = {0.2}, .categories = {}, .graph = nullptr};
  const Point there{.numbers = {0.8}, .categories = {}, .graph = nullptr};
  for (const double y : {1.0, 5.0}) process.append(here, y);
  process.append(there, 2);
  ASSERT_EQ(process.rows(), 2u);
  EXPECT_NEAR(process.predict(here).mean, 3, 1e-6);
  process.replace_all(std::vector{4.0, 12.0, 2.0});
  EXPECT_NEAR(process.predict(here).mean, 8, 1e-6);
  EXPECT_NEAR(process.predict(there).mean, 2, 1e-6);
}

// In the order of the observations each is what the ones before leave open, in its own deviations.
TEST(LazyGp, AnInnovationIsADeviationFromWhatWasPredicted) {
  const Features features(numbers(2));
  LazyGp process(features, default_parameters(features));
  Rng rng(12);
  for (int i = 0; i < 10; ++i) process.append(random_point(features, rng), 40 + rng.normal());
  const Point x = random_point(features, rng);
  const Prediction before = process.predict(x);
  const double noise = process.kernel().parameters().noise;
  process.append(x, before.mean + 3 * std::sqrt(before.variance + noise));
  const std::vector<double> innovations = process.innovations(10);
  ASSERT_EQ(innovations.size(), 1u);
  EXPECT_NEAR(innovations[0], 3, 0.2);  // the mean has learned of it
}

// The noise of an observation is no part of the function.
TEST(LazyGp, SmoothedOutcomesAreThePosteriorMeansWhereTheyWereMeasured) {
  const Features features(numbers(2));
  KernelParameters parameters = default_parameters(features);
  parameters.noise = 0.5;
  LazyGp process(features, parameters);
  Rng rng(13);
  for (int i = 0; i < 8; ++i) process.append(random_point(features, rng), rng.normal());
  const std::vector<double> smoothed = process.smoothed();
  for (std::size_t i = 0; i < smoothed.size(); ++i)
    EXPECT_NEAR(smoothed[i], process.predict(process.points()[i]).mean, 1e-9);
}

TEST(LazyGp, SlopesAreFiniteDifferences) {
  const Features features(numbers(3));
  LazyGp process(features, default_parameters(features));
  Rng rng(6);
  for (int i = 0; i < 30; ++i) process.append(random_point(features, rng), rng.normal());
  Point x = random_point(features, rng);
  const LazyGp::Slope slope = process.slope(x);
  for (std::size_t j = 0; j < 3; ++j) {
    Point up = x, down = x;
    up.numbers[j] += 1e-5;
    down.numbers[j] -= 1e-5;
    const Prediction high = process.predict(up), low = process.predict(down);
    EXPECT_NEAR(slope.mean[j], (high.mean - low.mean) / 2e-5, 1e-5);
    EXPECT_NEAR(slope.variance[j], (high.variance - low.variance) / 2e-5, 1e-5);
  }
}

TEST(LazyGp, TakesLittleMoreMemoryThanItsFactor) {
  const Features features(numbers(10));
  LazyGp process(features, default_parameters(features));
  Rng rng(1);
  for (int i = 0; i < 600; ++i) process.append(random_point(features, rng), rng.normal());
  EXPECT_LE(static_cast<double>(process.bytes()), 1.3 * 8 * 600 * 600 / 2);
}

}  // namespace
}  // namespace detol
