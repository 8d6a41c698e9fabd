#include "trainer/ensemble.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "core/rng.h"
#include "trainer/predict.h"
#include "trainer/test_metrics.h"

namespace detol {
namespace {

Network network_of(std::int64_t hidden, std::int64_t outputs, std::int64_t inputs = 5) {
  NetworkBuilder b({inputs, 1, 1});
  const NodeId x = b.add({.kind = LayerKind::kDense, .channels = hidden, .bias = true}, {0});
  const NodeId y = b.add({.kind = LayerKind::kActivation}, {x});
  return b.build(b.add({.kind = LayerKind::kDense, .channels = outputs, .bias = true}, {y}))
      .value();
}

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

TEST(Vote, OfClassesIsTheMeanOfTheMembersProbabilities) {
  // Two images, two members, two classes: log odds of the second class.
  const std::vector<float> outputs = {0, 1, 2, -1, 5, 5, -3, 0};
  const std::vector<float> shares = {0.75F, 0.25F};
  const auto voted = vote(TaskKind::kClassification, shares, 2, outputs);
  ASSERT_EQ(voted.size(), 4u);
  EXPECT_NEAR(std::exp(voted[1]), 0.75 * sigmoid(1) + 0.25 * sigmoid(-3), 1e-6);
  EXPECT_NEAR(std::exp(voted[0]) + std::exp(voted[1]), 1, 1e-6);
  EXPECT_NEAR(std::exp(voted[3]), 0.75 * 0.5 + 0.25 * sigmoid(3), 1e-6);
}

TEST(Vote, OfBinaryAndLabelsIsTheMeanOfTheirProbabilitiesAlsoAtTheirEnds) {
  const std::vector<float> shares = {0.5F, 0.5F};
  for (const TaskKind task : {TaskKind::kBinary, TaskKind::kMultiLabel}) {
    const auto voted = vote(task, shares, 1, std::vector<float>{2, -1, 40, 40, -200, -200});
    ASSERT_EQ(voted.size(), 3u);
    EXPECT_NEAR(sigmoid(voted[0]), 0.5 * sigmoid(2) + 0.5 * sigmoid(-1), 1e-6);
    EXPECT_NEAR(voted[1], 40, 1e-4);
    EXPECT_NEAR(voted[2], std::log(kLeastProbability), 1e-3) << "finite";
  }
}

TEST(Vote, OfNumbersIsTheirWeightedMean) {
  const auto voted = vote(TaskKind::kRegression, std::vector<float>{0.25F, 0.75F}, 2,
                          std::vector<float>{4, 8, 0, 4});
  EXPECT_EQ(voted, (std::vector<float>{1, 5}));
}

TEST(Join, GivesTheOutputsOfAllMembersSideBySideOnEveryBackend) {
  const Network small = network_of(3, 2), large = network_of(20, 2);
  const Weights of_small = initial_weights(small, 1), of_large = initial_weights(large, 2);
  const Network joined = join({&small, &large, &small}).value();
  const Weights weights = join(joined, {&of_small, &of_large, &of_small});
  ASSERT_TRUE(fits(weights, joined));
  Rng rng(1);
  std::vector<float> images(5 * 7);
  for (float& value : images) value = static_cast<float>(rng.normal());
  for (const char* backend : {"reference", "cpu"}) {
    const auto all = logits_of(joined, weights, images, backend).value();
    const auto first = logits_of(small, of_small, images, backend).value();
    const auto second = logits_of(large, of_large, images, backend).value();
    ASSERT_EQ(all.size(), 3 * first.size());
    for (std::size_t i = 0; i < first.size(); ++i) {
      EXPECT_NEAR(all[i / 2 * 6 + i % 2], first[i], 1e-5) << backend;
      EXPECT_NEAR(all[i / 2 * 6 + 2 + i % 2], second[i], 1e-5) << backend;
      EXPECT_NEAR(all[i / 2 * 6 + 4 + i % 2], first[i], 1e-5) << backend;
    }
  }
}

TEST(Join, RefusesNetworksForOtherData) {
  const Network one = network_of(3, 2), other_outputs = network_of(3, 4),
                other_inputs = network_of(3, 2, 6);
  EXPECT_FALSE(join({&one, &other_outputs}));
  EXPECT_FALSE(join({&one, &other_inputs}));
  EXPECT_TRUE(join({&one}));
}

// 60 images of two classes; networks are right where they are told to be.
class Greedy : public testing::Test {
 protected:
  static constexpr std::int64_t kImages = 60;

  Greedy() {
    data.info.task = {{1, 1, 1}, 2, TaskKind::kClassification};
    data.info.test = kImages;
    for (std::int64_t i = 0; i < kImages; ++i) data.labels.push_back(static_cast<int>(i % 2));
  }

  // Returns outputs that are `margin` for the right class of image i if is_right(i).
  template <typename IsRight>
  std::vector<float> outputs(float margin, IsRight is_right) const {
    std::vector<float> all;
    for (std::int64_t i = 0; i < kImages; ++i) {
      const bool second = (i % 2 == 1) == is_right(i);
      all.insert(all.end(), {second ? 0 : margin, second ? margin : 0});
    }
    return all;
  }

  std::vector<float> shares(std::vector<std::vector<float>> library, int size) {
    return select_ensemble({.data = data,
                            .range = {0, kImages},
                            .recipe = recipe,
                            .outputs = std::move(library),
                            .size = size});
  }

  Dataset data;
  const Recipe recipe;
};

TEST_F(Greedy, TakesNetworksThatErrOnOtherImagesAndLeavesOutTheUseless) {
  const auto wrong_in = [](std::int64_t third) {
    return [third](std::int64_t i) { return i / 2 % 3 != third; };
  };
  const auto shares_found =
      shares({outputs(1, wrong_in(0)), outputs(1, wrong_in(1)), outputs(1, wrong_in(2)),
              outputs(5, [](std::int64_t i) { return i % 4 == 0; })},
             12);
  EXPECT_NEAR(shares_found[0], 1.0 / 3, 1e-6);
  EXPECT_NEAR(shares_found[1], 1.0 / 3, 1e-6);
  EXPECT_NEAR(shares_found[2], 1.0 / 3, 1e-6);
  EXPECT_EQ(shares_found[3], 0);
}

TEST_F(Greedy, GivesABetterNetworkALargerShare) {
  const auto sure = outputs(4, [](std::int64_t i) { return i >= 6; });
  const auto unsure = outputs(2, [](std::int64_t i) { return i < 48; });
  const auto found = shares({sure, unsure}, 20);
  EXPECT_GT(found[0], found[1]);
  EXPECT_GT(found[1], 0);
  EXPECT_NEAR(found[0] + found[1], 1, 1e-6);
}

TEST_F(Greedy, TakesTheMeanOfPredictionsOfARegression) {
  Recipe squares;
  squares.loss = "mse";
  Dataset numbers;
  numbers.info.task = {{1, 1, 1}, 1, TaskKind::kRegression};
  numbers.info.test = kImages;
  numbers.targets.assign(kImages, 3);
  numbers.target_mean = {0};
  numbers.target_deviation = {1};
  const std::vector<float> above(kImages, 4), below(kImages, 2);
  EXPECT_EQ(select_ensemble({.data = numbers,
                             .range = {0, kImages},
                             .recipe = squares,
                             .outputs = {above, below},
                             .size = 2}),
            (std::vector<float>{0.5F, 0.5F}));
}

TEST_F(Greedy, IsTheBestNetworkAloneWhereNoneHelps) {
  const auto good = outputs(3, [](std::int64_t) { return true; });
  const auto bad = outputs(3, [](std::int64_t) { return false; });
  EXPECT_EQ(shares({good, bad}, 20), (std::vector<float>{1, 0}));
}

TEST_F(Greedy, IsBetterThanTheBestNetworkWhereTheirErrorsDiffer) {
  Rng rng(3);
  std::vector<std::vector<float>> library(6);
  for (std::vector<float>& one : library) {
    for (std::int64_t i = 0; i < 2 * kImages; ++i) {
      const bool is_label = i / 2 % 2 == i % 2;
      one.push_back(static_cast<float>(rng.normal() + (is_label ? 0.5 : 0)));
    }
  }
  const auto loss = [&](const std::vector<float>& one) {
    return metrics_of(data, {0, kImages}, one, recipe, {"val_loss"})[0];
  };
  std::vector<float> all;
  for (std::size_t i = 0; i < static_cast<std::size_t>(kImages); ++i) {
    for (const auto& one : library) all.insert(all.end(), {one[2 * i], one[2 * i + 1]});
  }
  const auto voted = vote(TaskKind::kClassification, shares(library, 10), 2, all);
  EXPECT_LT(loss(voted), loss(*std::ranges::min_element(library, {}, loss)));
}

TEST_F(Greedy, ReadsMetricsAsTheTestDoes) {
  const auto some = outputs(2, [](std::int64_t i) { return i % 5 != 0; });
  for (const TestMetric& metric : metrics_with_intervals(data, {0, kImages}, some, recipe)) {
    const std::string name = "val_" + metric.name.substr(5);
    EXPECT_NEAR(metrics_of(data, {0, kImages}, some, recipe, {name})[0], metric.value, 1e-12)
        << name;
  }
}

}  // namespace
}  // namespace detol
