// What holds of the ways that a backend can choose from, over the table of backends.

#include "trainer/backends/choices.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "bench/networks.h"
#include "tests/trainer/every_layer.h"
#include "tests/trainer/tested_backends.h"

namespace detol {
namespace {

const Recipe kRecipe{.batch_size = 5};

std::vector<OpenChoice> open_in(const BackendRow& row, const Network& network) {
  return row.open_choices == nullptr ? std::vector<OpenChoice>()
                                     : row.open_choices(network, kRecipe, {}).value();
}

class WayOfLayer : public testing::TestWithParam<Case> {};

TEST_P(WayOfLayer, AgreesWithTheReferenceInDouble) {
  const Network network = sandwich(GetParam().sample);
  for (const OpenChoice& open : open_in(*GetParam().backend, network)) {
    for (const std::string& way : open.ways) {
      SCOPED_TRACE(open.key + ": " + way);
      const Choices choices{{{open.key, way}}};
      expect_agreement(*GetParam().backend, network, kRecipe, &choices);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Every, WayOfLayer, testing::ValuesIn(every_backend_and_layer()),
                         [](const auto& tested) {
                           return std::string(tested.param.backend->name) + "_" +
                                  tested.param.sample.name;
                         });

class BackendOfWays : public testing::TestWithParam<BackendRow> {
 protected:
  void SetUp() override {
    if (GetParam().open_choices == nullptr) GTEST_SKIP() << "has one way for everything";
  }
  std::vector<OpenChoice> open() const { return open_in(GetParam(), network_); }
  std::vector<TimedChoice> timed(const Choices& known) const {
    return GetParam().time_choices(network_, kRecipe, {.choices = &known}, [] {}).value();
  }
  // Every weight after some steps.
  std::vector<float> trained(const Choices* choices) const {
    const auto executable = compiled(GetParam(), network_, kRecipe, choices);
    prepare_with_noise(network_, *executable);
    for (std::int64_t step = 0; step < 3; ++step)
      executable->train_step({.lr = 0.01, .step = step});
    std::vector<float> all;
    const TrainingState state = executable->state();
    for (const Tensor& tensor : state.weights)
      all.insert(all.end(), tensor.data.begin(), tensor.data.end());
    return all;
  }

  const Network network_ = make_resnet({.input = {3, 16, 16}});
};

// The other way of everything.
Choices last_ways(const std::vector<OpenChoice>& open) {
  Choices choices;
  for (const OpenChoice& one : open) choices.ways.emplace(one.key, one.ways.back());
  return choices;
}

TEST_P(BackendOfWays, TimesEveryOpenChoiceOnceAndChoosesOneOfItsWays) {
  const std::vector<OpenChoice> wanted = open();
  const std::vector<TimedChoice> found = timed({});
  ASSERT_FALSE(wanted.empty());
  ASSERT_EQ(found.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_EQ(found[i].key, wanted[i].key);
    EXPECT_NE(std::ranges::find(wanted[i].ways, found[i].way), wanted[i].ways.end());
    EXPECT_EQ(found[i].seconds.size(), wanted[i].ways.size());
  }
}

TEST_P(BackendOfWays, TimesNothingThatIsKnown) {
  EXPECT_TRUE(timed(last_ways(open())).empty());
}

TEST_P(BackendOfWays, TheSameChoicesGiveTheSameBits) {
  const Choices choices = last_ways(open());
  EXPECT_EQ(trained(&choices), trained(&choices));
}

TEST_P(BackendOfWays, NoChoicesAreTheFirstWays) {
  Choices first;
  for (const OpenChoice& one : open()) first.ways.emplace(one.key, one.ways.front());
  const Choices none;
  EXPECT_EQ(trained(&first), trained(nullptr));
  EXPECT_EQ(trained(&none), trained(nullptr));
}

TEST_P(BackendOfWays, ChoicesReachTheArithmetic) {
  const Choices choices = last_ways(open());
  EXPECT_NE(trained(&choices), trained(nullptr));
}

TEST_P(BackendOfWays, AWayThatItDoesNotKnowIsAnErrorThatNamesIt) {
  const Choices choices{{{open().front().key, "magic"}}};
  const auto refused = GetParam().compile(network_, kRecipe, {.choices = &choices});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInternal);
  EXPECT_NE(refused.error().message.find("magic"), std::string::npos) << refused.error().message;
}

INSTANTIATE_TEST_SUITE_P(Every, BackendOfWays, testing::ValuesIn(tested_backends()),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(Choices, SurviveTheirWayToOtherRanks) {
  const Choices choices{{{"conv 64x16x32x32 to 16, window 3x3", "direct"}, {"dense", "ab"}}};
  EXPECT_EQ(choices_from(to_text(choices)).ways, choices.ways);
  EXPECT_TRUE(choices_from(to_text(Choices())).ways.empty());
}

}  // namespace
}  // namespace detol
