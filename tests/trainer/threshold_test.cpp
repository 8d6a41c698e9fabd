#include "trainer/threshold.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "trainer/backends/loss.h"

namespace detol {
namespace {

const double kProbabilities[] = {0.05, 0.1, 0.15, 0.2, 0.3, 0.35, 0.45, 0.9};
const std::vector<std::int32_t> kLabels = {0, 0, 0, 0, 1, 0, 1, 1};
constexpr Range kAll{0, 8};

// Eight validation images whose probabilities of the second class, or of the only label, are those
// above.
struct EightImages {
  explicit EightImages(TaskKind kind) {
    data.info.task = {{1, 1, 1}, kind == TaskKind::kClassification ? 2 : 1, kind};
    data.info.validation = 8;
    if (kind == TaskKind::kMultiLabel)
      data.targets.assign(kLabels.begin(), kLabels.end());
    else
      data.labels = kLabels;
    recipe.loss = row_of(kind).losses.front();
    for (const double probability : kProbabilities) {
      const auto logit = static_cast<float>(logit_of(probability));
      if (kind == TaskKind::kClassification) outputs.push_back(0.25F);
      outputs.push_back(kind == TaskKind::kClassification ? logit + 0.25F : logit);
    }
  }
  double metric(double threshold, const char* name) const {
    const auto metrics = metrics_at(threshold, data, kAll, outputs, recipe);
    return std::ranges::find(metrics, name, &TestMetric::name)->value;
  }

  Dataset data;
  Recipe recipe;
  std::vector<float> outputs;
};

class Threshold : public testing::TestWithParam<TaskKind> {
 protected:
  const EightImages sample{GetParam()};
};

TEST_P(Threshold, DecidesAndLeavesProbabilitiesAsTheyAre) {
  EXPECT_EQ(sample.metric(0.5, "test_accuracy"), 6.0 / 8);
  EXPECT_EQ(sample.metric(0.25, "test_accuracy"), 7.0 / 8);
  EXPECT_EQ(sample.metric(0.25, "test_balanced_accuracy"), (1 + 4.0 / 5) / 2);
  EXPECT_EQ(sample.metric(0.95, "test_balanced_accuracy"), 0.5);
  for (const char* name : {"test_loss", "test_auc", "test_average_precision", "test_ece"})
    EXPECT_EQ(sample.metric(0.25, name), sample.metric(0.5, name)) << name;
}

TEST_P(Threshold, OfTheBestMetricSeparatesBest) {
  for (const std::string_view metric : decision_metrics()) {
    const double threshold =
        best_threshold(metric, sample.data, kAll, sample.outputs, sample.recipe);
    EXPECT_GT(threshold, 0.2) << metric;
    EXPECT_LT(threshold, 0.45) << metric;
    for (const double other : {0.12, 0.25, 0.5, 0.7}) {
      const std::string name = "test_" + std::string(metric);
      EXPECT_GE(sample.metric(threshold, name.c_str()), sample.metric(other, name.c_str()));
    }
  }
}

// A threshold of 0.36 to 0.44 gives 7 of 8, as one of 0.21 to 0.29 does, which is further from 1/2.
TEST_P(Threshold, OfEqualOnesIsTheNextToOneHalf) {
  EXPECT_NEAR(best_threshold("accuracy", sample.data, kAll, sample.outputs, sample.recipe), 0.4,
              0.01);
}

INSTANTIATE_TEST_SUITE_P(Every, Threshold,
                         testing::Values(TaskKind::kClassification, TaskKind::kBinary,
                                         TaskKind::kMultiLabel),
                         [](const auto& tested) { return std::string(row_of(tested.param).name); });

TEST(Thresholds, AreOfTwoClassesOrOfLabels) {
  EXPECT_TRUE(has_threshold({{1, 1, 1}, 2, TaskKind::kClassification}));
  EXPECT_FALSE(has_threshold({{1, 1, 1}, 3, TaskKind::kClassification}));
  EXPECT_FALSE(has_threshold({{1, 1, 1}, 1, TaskKind::kRegression}));
}

}  // namespace
}  // namespace detol
