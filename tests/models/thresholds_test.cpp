// The threshold of a decision, as it is given or as the validation part chooses it.

#include "models/thresholds.h"

#include <cmath>

#include "tests/models/linear_study.h"

namespace detol {
namespace {

TEST(ThresholdText, IsANumberBetweenZeroAndOneOrAMetric) {
  EXPECT_EQ(threshold_from("0.25")->value, 0.25);
  EXPECT_EQ(threshold_from("0.25")->metric, "");
  EXPECT_EQ(threshold_from("accuracy")->metric, "accuracy");
  for (const char* text :
       {"", "0", "1", "-0.5", "1.5", "nan", "0.5x", " 0.5", "val_accuracy", "auc"})
    EXPECT_EQ(threshold_from(text).error().code, ErrorCode::kUsage) << text;
}

TEST(ThresholdText, NeedsTheDataOnlyWhereAMetricChooses) {
  EXPECT_FALSE(needs_data(std::nullopt));
  EXPECT_FALSE(needs_data(ThresholdRequest{.value = 0.3}));
  EXPECT_TRUE(needs_data(ThresholdRequest{.metric = "f1"}));
}

TEST(ThresholdOfATask, IsOfTwoClassesAndOfLabels) {
  EXPECT_TRUE(check_has_threshold({.input = {}, .classes = 1, .kind = TaskKind::kBinary}));
  EXPECT_TRUE(check_has_threshold({.input = {}, .classes = 3, .kind = TaskKind::kMultiLabel}));
  for (const TaskKind kind : {TaskKind::kClassification, TaskKind::kRegression}) {
    const auto refused = check_has_threshold({.input = {}, .classes = 3, .kind = kind});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::kUsage);
  }
}

class LinearThreshold : public testing_support::LinearStudy {
 protected:
  Result<double> threshold(const ThresholdRequest& request, const StudyData& shared,
                           const char* trained_on = kOnTraining) const {
    const Network network = candidate(0).network;
    const Weights weights = weights_of({});
    return threshold_for(request, {network, weights}, shared, trained_on, "cpu");
  }
};

TEST_F(LinearThreshold, IsTheGivenNumberAlsoWithoutData) {
  write_study({{}});
  StudyData shared = data();
  shared.data.reset();
  EXPECT_EQ(threshold({.value = 0.7}, shared).value(), 0.7);
}

// Above x = 0.5 all is "yes" in validation.
TEST_F(LinearThreshold, IsChosenOnTheValidationPart) {
  write_study({{}});
  const double chosen = threshold({.metric = "accuracy"}, data()).value();
  EXPECT_GT(chosen, 1 / (1 + std::exp(-0.5)));
  EXPECT_LT(chosen, 1 / (1 + std::exp(-1.0)));
}

TEST_F(LinearThreshold, IsNotChosenOnWhatTheModelHasSeenNorOnNothing) {
  write_study({{}});
  StudyData shared = data();
  const auto seen = threshold({.metric = "accuracy"}, shared, kOnValidationToo);
  ASSERT_FALSE(seen);
  EXPECT_EQ(seen.error().code, ErrorCode::kUsage);
  EXPECT_EQ(threshold({.value = 0.7}, shared, kOnValidationToo).value(), 0.7);
  shared.data->info.validation = 0;
  EXPECT_EQ(threshold({.metric = "accuracy"}, shared).error().code, ErrorCode::kUsage);
}

}  // namespace
}  // namespace detol
