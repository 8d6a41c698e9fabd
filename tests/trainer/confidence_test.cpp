// Intervals against statsmodels 0.13 (proportion_confint, method "wilson") and numpy's quantiles;
// metrics of resamples against the metrics of the images written out.

#include "trainer/confidence.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <gtest/gtest.h>

#include "core/rng.h"
#include "trainer/metrics.h"
#include "trainer/test_metrics.h"

namespace detol {
namespace {

constexpr std::int64_t kImages = 60;

// Returns random outputs and targets of a task with four classes or outputs.
Dataset random_data(TaskKind kind, std::vector<float>& outputs) {
  Rng rng(static_cast<std::uint64_t>(kind) + 1);
  const int width = kind == TaskKind::kBinary ? 1 : 4;
  Dataset data;
  data.info.task = {{1, 1, 1}, width, kind};
  data.info.test = kImages;
  const auto numbers = static_cast<std::size_t>(kImages * width);
  for (std::size_t i = 0; i < numbers; ++i)
    outputs.push_back(static_cast<float>(std::round(rng.normal() * 8) / 8));  // with ties
  for (std::int64_t i = 0; i < kImages && has_labels(kind); ++i)
    data.labels.push_back(static_cast<std::int32_t>(rng.below(width == 1 ? 2 : 4)));
  for (std::size_t i = 0; i < numbers && !has_labels(kind); ++i)
    data.targets.push_back(kind == TaskKind::kMultiLabel ? static_cast<float>(rng.below(2))
                                                         : static_cast<float>(rng.normal()));
  return data;
}

// Returns the data with each image as often as `times` says.
Dataset written_out(const Dataset& data, std::span<const std::uint16_t> times,
                    std::span<const float> outputs, std::vector<float>& repeated) {
  const auto width = static_cast<std::size_t>(data.info.task.classes);
  Dataset all = data;
  all.labels.clear();
  all.targets.clear();
  for (std::size_t i = 0; i < times.size(); ++i) {
    for (int n = 0; n < times[i]; ++n) {
      if (!data.labels.empty()) all.labels.push_back(data.labels[i]);
      for (std::size_t k = 0; k < width; ++k) {
        if (!data.targets.empty()) all.targets.push_back(data.targets[i * width + k]);
        repeated.push_back(outputs[i * width + k]);
      }
    }
  }
  return all;
}

class Resamples : public testing::TestWithParam<TaskKind> {};

TEST_P(Resamples, MetricsOfAResampleAreThoseOfItsImagesWrittenOut) {
  std::vector<float> outputs, repeated;
  const Dataset data = random_data(GetParam(), outputs);
  std::vector<std::uint16_t> times(kImages);
  draw_resample(3, times);
  const Dataset all = written_out(data, times, outputs, repeated);
  const Range range{0, kImages};
  Metrics weighted(data, range), plain(all, range);
  std::ranges::copy(outputs, weighted.outputs().begin());
  std::ranges::copy(repeated, plain.outputs().begin());
  weighted.freeze();
  for (const std::string_view name : row_of(GetParam()).metrics) {
    if (!name.starts_with("val_") || !Metrics::has(name)) continue;
    EXPECT_NEAR(weighted.value_of(name, times), plain.value_of(name), 1e-12) << name;
  }
}

TEST_P(Resamples, EveryMetricOfTheTaskLiesInItsInterval) {
  std::vector<float> outputs;
  const Dataset data = random_data(GetParam(), outputs);
  const std::string loss(row_of(GetParam()).losses.front());
  const auto found = metrics_with_intervals(data, {0, kImages}, outputs, {.loss = loss});
  std::size_t of_validation = 0;
  for (const std::string_view name : row_of(GetParam()).metrics)
    of_validation += name.starts_with("val_") ? 1 : 0;
  EXPECT_EQ(found.size(), of_validation);
  for (const TestMetric& metric : found) {
    EXPECT_TRUE(metric.name.starts_with("test_")) << metric.name;
    EXPECT_LE(metric.interval.low, metric.value) << metric.name;
    EXPECT_LE(metric.value, metric.interval.high) << metric.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Tasks, Resamples,
                         testing::Values(TaskKind::kClassification, TaskKind::kBinary,
                                         TaskKind::kMultiLabel, TaskKind::kRegression),
                         [](const auto& kind) { return std::string(row_of(kind.param).name); });

TEST(Confidence, OfASharesIsWilsonsInterval) {
  const ConfidenceInterval half = wilson_interval(0.5, 10);
  EXPECT_NEAR(half.low, 0.236593, 1e-6);
  EXPECT_NEAR(half.high, 0.763407, 1e-6);
  const ConfidenceInterval all = wilson_interval(1, 10);
  EXPECT_NEAR(all.low, 0.722467, 1e-6);
  EXPECT_EQ(all.high, 1);
}

TEST(Confidence, OfResamplesIsBetweenTheirQuantilesWithoutThoseThatAreNoNumber) {
  std::vector<double> values(101);
  std::iota(values.rbegin(), values.rend(), 0.0);
  values.push_back(std::numeric_limits<double>::quiet_NaN());
  const ConfidenceInterval interval = percentile_interval(values);
  EXPECT_DOUBLE_EQ(interval.low, 2.5);
  EXPECT_DOUBLE_EQ(interval.high, 97.5);
  EXPECT_TRUE(std::isnan(percentile_interval({values.back()}).low));
}

TEST(Confidence, OfAMeanIsAsWideAsTheNormalDistributionSays) {
  constexpr std::int64_t kMany = 400;
  Rng rng(5);
  Dataset data;
  data.info.task = {{1, 1, 1}, 1, TaskKind::kRegression};
  data.info.test = kMany;
  std::vector<float> outputs;
  double sum = 0, squares = 0;
  for (std::int64_t i = 0; i < kMany; ++i) {
    outputs.push_back(static_cast<float>(rng.uniform()));
    data.targets.push_back(0);
    sum += outputs.back();
    squares += double{outputs.back()} * outputs.back();
  }
  const double mean = sum / kMany, deviation = std::sqrt(squares / kMany - mean * mean);
  const auto found = metrics_with_intervals(data, {0, kMany}, outputs, {.loss = "mse"});
  const auto mae = std::ranges::find(found, "test_mae", &TestMetric::name);
  ASSERT_NE(mae, found.end());
  EXPECT_NEAR(mae->value, mean, 1e-6);
  const double width = 2 * 1.96 * deviation / std::sqrt(double{kMany});
  EXPECT_NEAR(mae->interval.high - mae->interval.low, width, 0.1 * width);
}

// Every image has two of four labels right: no resample says anything else.
TEST(Confidence, OfTheAccuracyOfSeveralLabelsIsThatOfItsResamples) {
  Dataset data;
  data.info.task = {{1, 1, 1}, 4, TaskKind::kMultiLabel};
  data.info.test = 20;
  std::vector<float> outputs;
  for (std::int64_t i = 0; i < 20; ++i) {
    outputs.insert(outputs.end(), {1, 1, -1, -1});
    for (const bool is_there : {true, false, true, false}) data.targets.push_back(is_there ? 1 : 0);
  }
  const std::string loss(row_of(TaskKind::kMultiLabel).losses.front());
  const auto found = metrics_with_intervals(data, {0, 20}, outputs, {.loss = loss});
  const auto accuracy = std::ranges::find(found, "test_accuracy", &TestMetric::name);
  ASSERT_NE(accuracy, found.end());
  EXPECT_EQ(accuracy->value, 0.5);
  EXPECT_EQ(accuracy->interval.low, 0.5);
  EXPECT_EQ(accuracy->interval.high, 0.5);
}

TEST(Confidence, LargeDataHaveFewerResamples) {
  EXPECT_EQ(resamples_for(1), 2000u);
  EXPECT_EQ(resamples_for(40'000), 500u);
  EXPECT_EQ(resamples_for(1'000'000'000), 200u);
}

}  // namespace
}  // namespace detol
