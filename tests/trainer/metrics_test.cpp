// Metrics against scikit-learn 1.9 (accuracy, f1 macro, balanced accuracy, Matthews' correlation,
// roc_auc and average precision one against the rest, top-k, r2, mean absolute and root mean
// squared error) and, for the calibration error, a few lines of numpy.

#include "trainer/metrics.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace detol {
namespace {

struct Sample {
  TaskKind kind;
  int outputs;
  std::vector<float> predictions;
  std::vector<std::int32_t> labels = {};
  std::vector<float> targets = {};
};

Dataset data_of(const Sample& sample) {
  const std::size_t images = sample.predictions.size() / static_cast<std::size_t>(sample.outputs);
  Dataset data;
  data.info.task = {{1, 1, 1}, sample.outputs, sample.kind};
  data.info.validation = static_cast<std::int64_t>(images);
  data.labels = sample.labels;
  data.targets = sample.targets;
  return data;
}

double metric(const Sample& sample, const std::string& name) {
  const Dataset data = data_of(sample);
  Metrics metrics(data, range_of(data.info, DataSplit::kValidation));
  std::ranges::copy(sample.predictions, metrics.outputs().begin());
  return metrics.value_of(name);
}

// No label is of class 6.
const Sample kSevenClasses{
    TaskKind::kClassification,
    7,
    {4.7F,  0.7F,  0.1F,  -2.8F, -0.4F, -0.5F, -0.1F, -0.9F, -0.1F, -0.7F, -2,    1.3F,  1.3F,
     2.6F,  0.1F,  -0.6F, 1.2F,  -2.3F, 1.5F,  -1.7F, -1.8F, -0.3F, 2.2F,  0.4F,  -1.5F, -1.1F,
     0.9F,  -0.2F, -1.2F, -0.3F, 1.1F,  3,     0.1F,  -0.9F, -1.2F, -3.6F, -1.4F, -1.5F, 1.7F,
     -0.2F, -2.4F, 1,     1.5F,  -2.6F, -0.9F, -0.9F, -1.3F, 0,     -3.4F, -0.4F, 1.5F,  1.3F,
     1.7F,  1.7F,  2.2F,  -1.7F, 1.3F,  -2.8F, 1.1F,  -2.9F, 1.6F,  2,     -0.3F, 2.7F,  -1,
     0.2F,  0.2F,  -1.6F, 0.7F,  2.9F,  -1.5F, 1.3F,  -0.2F, 2.7F,  2.7F,  1,     1,     0.4F,
     -2.1F, 2.1F,  -2.1F, 0.4F,  0.9F,  -1.3F, 0.2F,  3.8F,  0,     -1.3F, -4.4F, -1.5F, -0.9F,
     -0.8F, -1.4F, 0.6F,  -0.9F, -0.2F, 1,     -1.3F},
    {0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5, 1, 1}};

const Sample kBinaryWithTies{TaskKind::kBinary,
                             1,
                             {0.5F, -1, 2, 0.5F, -1, 0.1F, 3, -2, 0.5F, -0.3F},
                             {1, 0, 1, 0, 1, 0, 1, 0, 1, 1}};

// No image has the third label.
const Sample kThreeLabels{
    TaskKind::kMultiLabel,
    3,
    {-0.3F, 2.2F,  0.9F,  -1.3F, -0.1F, 0.6F, 1.2F, 0.1F, -0.5F, -0.7F, 0.6F,  0.3F,
     -0.5F, -0.2F, -0.4F, 0.7F,  -0.7F, 0.5F, 0.9F, 0.5F, -0.8F, 1.3F,  -0.7F, 0.4F},
    {},
    {0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 1, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0, 0, 0, 0}};

const Sample kTwoNumbers{TaskKind::kRegression,
                         2,
                         {-1.52F, 203.25F, 0.13F, 241.5F, -1.08F, 221.59F, 0.36F, 205.5F, 0.44F,
                          215.49F, -0.99F, 219.17F},
                         {},
                         {-0.91F, 202.65F, 0.13F, 237.25F, -0.72F, 221.94F, 0.43F, 195.53F, 0.84F,
                          214.76F, -0.86F, 232.15F}};

TEST(Metrics, OfClassesAreScikitLearns) {
  EXPECT_NEAR(metric(kSevenClasses, "val_top5"), 0.7857142857142857, 1e-12);
  EXPECT_NEAR(metric(kSevenClasses, "val_f1"), 0.19047619047619047, 1e-12);
  EXPECT_NEAR(metric(kSevenClasses, "val_balanced_accuracy"), 0.20833333333333334, 1e-12);
  EXPECT_NEAR(metric(kSevenClasses, "val_mcc"), 0.08642633970683909, 1e-12);
  EXPECT_NEAR(metric(kSevenClasses, "val_auc"), 0.7208333333333333, 1e-12);
  EXPECT_NEAR(metric(kSevenClasses, "val_average_precision"), 0.49173280423280424, 1e-12);
  EXPECT_NEAR(metric(kSevenClasses, "val_ece"), 0.4244742098037957, 1e-6);
}

TEST(Metrics, OfABinaryTaskAreScikitLearnsAndATieIsHalf) {
  EXPECT_NEAR(metric(kBinaryWithTies, "val_f1"), 0.5833333333333333, 1e-12);
  EXPECT_NEAR(metric(kBinaryWithTies, "val_balanced_accuracy"), 0.5833333333333333, 1e-12);
  EXPECT_NEAR(metric(kBinaryWithTies, "val_mcc"), 0.16666666666666666, 1e-12);
  EXPECT_NEAR(metric(kBinaryWithTies, "val_auc"), 0.7708333333333333, 1e-12);
  EXPECT_NEAR(metric(kBinaryWithTies, "val_average_precision"), 0.8301587301587301, 1e-12);
  EXPECT_NEAR(metric(kBinaryWithTies, "val_ece"), 0.19799925851668468, 1e-6);
}

TEST(Metrics, OfLabelsAreTheMeanOverThem) {
  EXPECT_NEAR(metric(kThreeLabels, "val_f1"), 0.3571428571428572, 1e-12);
  EXPECT_NEAR(metric(kThreeLabels, "val_balanced_accuracy"), 0.5027777777777778, 1e-12);
  EXPECT_NEAR(metric(kThreeLabels, "val_mcc"), 0.08606629658238703, 1e-12);
  EXPECT_NEAR(metric(kThreeLabels, "val_auc"), 0.565625, 1e-12);
  EXPECT_NEAR(metric(kThreeLabels, "val_average_precision"), 0.5333333333333333, 1e-12);
  EXPECT_NEAR(metric(kThreeLabels, "val_ece"), 0.2903119664911979, 1e-6);
}

TEST(Metrics, OfNumbersAreScikitLearns) {
  EXPECT_NEAR(metric(kTwoNumbers, "val_mae"), 2.5375, 1e-5);
  EXPECT_NEAR(metric(kTwoNumbers, "val_rmse"), 3.626594226371037, 1e-5);
  EXPECT_NEAR(metric(kTwoNumbers, "val_r2"), 0.7702757383295498, 1e-6);
}

TEST(Metrics, OfNumbersAreInTheUnitsOfTheFile) {
  Sample sample = kTwoNumbers;
  Dataset data = data_of(sample);
  data.target_mean = {-1, 200};
  data.target_deviation = {0.5F, 20};
  Metrics metrics(data, range_of(data.info, DataSplit::kValidation));
  for (std::size_t i = 0; i < sample.predictions.size(); ++i)
    metrics.outputs()[i] =
        (sample.predictions[i] - data.target_mean[i % 2]) / data.target_deviation[i % 2];
  EXPECT_NEAR(metrics.value_of("val_mae"), 2.5375, 1e-5);
  EXPECT_NEAR(metrics.value_of("val_rmse"), 3.626594226371037, 1e-5);
}

TEST(Metrics, OfAPredictionThatIsAlwaysTheSameAreThoseOfKnowingNothing) {
  const Sample sample{TaskKind::kBinary, 1, {-1, -1, -1, -1}, {0, 0, 0, 1}};
  EXPECT_EQ(metric(sample, "val_balanced_accuracy"), 0.5);
  EXPECT_EQ(metric(sample, "val_mcc"), 0);
  EXPECT_EQ(metric(sample, "val_average_precision"), 0.25);
}

TEST(Metrics, AreOfTheOutputsThatWereWrittenLast) {
  const Dataset data = data_of(kBinaryWithTies);
  Metrics metrics(data, range_of(data.info, DataSplit::kValidation));
  for (const float sign : {-1.0F, 1.0F}) {
    std::ranges::transform(kBinaryWithTies.predictions, metrics.outputs().begin(),
                           [sign](float logit) { return sign * logit; });
    const double auc = 0.7708333333333333;
    EXPECT_NEAR(metrics.value_of("val_auc"), sign > 0 ? auc : 1 - auc, 1e-12);
  }
  EXPECT_NEAR(metrics.value_of("val_average_precision"), 0.8301587301587301, 1e-12);
}

TEST(Metrics, WithoutASecondClassThereIsNoAucAndWithoutVariationNoR2) {
  EXPECT_TRUE(std::isnan(metric({TaskKind::kBinary, 1, {1, 2}, {1, 1}}, "val_auc")));
  EXPECT_TRUE(std::isnan(metric({TaskKind::kRegression, 1, {1, 2}, {}, {3, 3}}, "val_r2")));
  EXPECT_EQ(metric({TaskKind::kRegression, 2, {1, 5, 2, 6}, {}, {3, 5, 3, 6}}, "val_r2"), 1);
}

TEST(Metrics, OfUpToFiveClassesAllLabelsAreAmongTheTopFive) {
  EXPECT_EQ(metric({TaskKind::kClassification, 3, {0, 1, 2, 0, 0, 0}, {0, 2}}, "val_top5"), 1);
}

TEST(Metrics, OfATaskAreMadeHereOrByTheLoss) {
  for (const TaskRow& row : tasks()) {
    for (std::string_view name : row.metrics) {
      const bool is_of_loss =
          name.ends_with("_loss") || name == "val_accuracy" || name == "train_accuracy";
      EXPECT_NE(Metrics::has(name), is_of_loss) << name;
    }
  }
}

}  // namespace
}  // namespace detol
