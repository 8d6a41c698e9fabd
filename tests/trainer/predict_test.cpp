// Scores the weights that a trial keeps and predicts with them, once for every backend.

#include "trainer/predict.h"

#include <gtest/gtest.h>

#include "tests/trainer/trial_runs.h"
#include "trainer/data/formats/formats.h"
#include "trainer/test_metrics.h"

namespace detol {
namespace {

using testing_support::data;
using testing_support::easy_recipe;
using testing_support::metric;
using testing_support::Ran;
using testing_support::small_network;
using testing_support::TrialRuns;

class KeptWeights : public TrialRuns {};

TEST_P(KeptWeights, ScoringTheKeptWeightsGivesTheReportedMetrics) {
  const Job one = job(easy_recipe());
  const Ran ran = run(one);
  const Dataset loaded = load_dataset(data()).value();
  const Weights weights = newest_checkpoint(one.folder, one.attempt).value()->state.weights;
  const Score validation =
      score(one.candidate.network, weights, loaded, DataSplit::kValidation, GetParam()).value();
  EXPECT_EQ(validation.images, 80);
  EXPECT_EQ(validation.accuracy, metric(ran.reports.back(), "val_accuracy"));
  EXPECT_NEAR(validation.loss, metric(ran.reports.back(), "val_loss"), 1e-5);
  EXPECT_GE(score(one.candidate.network, weights, loaded, DataSplit::kTest, GetParam())->accuracy,
            0.95);
}

TEST_P(KeptWeights, TestMetricsAreThoseOfTheTestImagesWhateverTheTrainingSmoothed) {
  const Network network = small_network({1, 12, 12}, 4);
  const Weights weights = initial_weights(network, 3);
  const Dataset loaded = load_dataset(data()).value();
  const Score all = score(network, weights, loaded, DataSplit::kTest, GetParam()).value();
  const Recipe recipe{.label_smoothing = 0.1};
  const auto metrics = test_metrics(network, weights, recipe, loaded, GetParam()).value();
  ASSERT_EQ(metrics.at(0).name, "test_accuracy");
  EXPECT_EQ(metrics[0].value, all.accuracy);
  ASSERT_EQ(metrics.at(1).name, "test_loss");
  EXPECT_NEAR(metrics[1].value, all.loss, 1e-5);
}

TEST_P(KeptWeights, ScoresTheAveragedWeightsAndKeepsThem) {
  Recipe recipe = easy_recipe();
  recipe.ema = 0.95;
  const Job one = job(recipe);
  const Ran ran = run(one);
  const TrainingState state = newest_checkpoint(one.folder, one.attempt).value()->state;
  const Dataset loaded = load_dataset(data()).value();
  const Score validation = score(one.candidate.network, scored_weights(state), loaded,
                                 DataSplit::kValidation, GetParam())
                               .value();
  EXPECT_NEAR(validation.loss, metric(ran.reports.back(), "val_loss"), 1e-5);
  EXPECT_NE(state.average[0].data, state.weights[0].data);
}

TEST_P(KeptWeights, LogitsOfManyImagesAreThoseOfEachAlone) {
  const Network network = small_network({1, 12, 12}, 4);
  const Weights weights = initial_weights(network, 3);
  const Dataset loaded = load_dataset(data()).value();
  const std::vector<float> images = normalised_images(loaded, {.first = 10, .count = 70});
  const std::vector<float> all = logits_of(network, weights, images, GetParam()).value();
  ASSERT_EQ(all.size(), 70u * 4);
  for (std::size_t i : {0u, 63u, 64u, 69u}) {
    const auto image = std::span(images).subspan(i * 144, 144);
    const std::vector<float> logits = logits_of(network, weights, image, GetParam()).value();
    for (std::size_t k = 0; k < 4; ++k) EXPECT_NEAR(logits[k], all[i * 4 + k], 1e-5);
  }
}

INSTANTIATE_TEST_SUITE_P(EveryBackend, KeptWeights, testing::ValuesIn(tested_backend_names()),
                         [](const auto& row) { return row.param; });

TEST(Predict, WeightsOfAnotherNetworkAreRefused) {
  const Network network = small_network({1, 12, 12}, 4);
  const Weights weights = initial_weights(small_network({1, 12, 12}, 5), 3);
  const std::vector<float> image(144);
  EXPECT_FALSE(fits(weights, network));
  EXPECT_FALSE(logits_of(network, weights, image, "reference"));
}

}  // namespace
}  // namespace detol
