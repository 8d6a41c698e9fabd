// The contract of the algorithms that a backend can choose from, over the table of backends.

#include "trainer/reports/algorithm_choices.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "bench/networks.h"
#include "tests/trainer/every_layer.h"
#include "tests/trainer/tested_backends.h"

namespace detol {
namespace {

const Recipe kRecipe{.batch_size = 5};

std::vector<AlgorithmCandidates> open_in(const BackendRow& row, const Network& network) {
  return row.list_algorithms == nullptr ? std::vector<AlgorithmCandidates>()
                                        : row.list_algorithms(network, kRecipe, {}).value();
}

class AlgorithmOfLayer : public testing::TestWithParam<Case> {};

TEST_P(AlgorithmOfLayer, AgreesWithTheReferenceInDouble) {
  const Network network = sandwich(GetParam().sample);
  for (const AlgorithmCandidates& open : open_in(*GetParam().backend, network)) {
    for (const std::string& algorithm : open.algorithms) {
      SCOPED_TRACE(open.key + ": " + algorithm);
      const AlgorithmChoices choices{{{open.key, algorithm}}};
      expect_agreement(*GetParam().backend, network, kRecipe, &choices);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Every, AlgorithmOfLayer, testing::ValuesIn(every_backend_and_layer()),
                         [](const auto& tested) {
                           return std::string(tested.param.backend->name) + "_" +
                                  tested.param.sample.name;
                         });

class BackendOfAlgorithms : public testing::TestWithParam<BackendRow> {
 protected:
  void SetUp() override {
    if (GetParam().list_algorithms == nullptr) GTEST_SKIP() << "has one algorithm for everything";
  }
  std::vector<AlgorithmCandidates> open() const { return open_in(GetParam(), network_); }
  std::vector<TimedShape> timed(const AlgorithmChoices& known) const {
    return GetParam().time_algorithms(network_, kRecipe, {.choices = &known}, [] {}).value();
  }
  // Returns every weight after three steps.
  std::vector<float> trained(const AlgorithmChoices* choices) const {
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

// Returns the last algorithm for every open choice.
AlgorithmChoices last_algorithms(const std::vector<AlgorithmCandidates>& open) {
  AlgorithmChoices choices;
  for (const AlgorithmCandidates& candidates : open)
    choices.algorithms.emplace(candidates.key, candidates.algorithms.back());
  return choices;
}

TEST_P(BackendOfAlgorithms, TimesEveryOpenChoiceOnceAndChoosesOneOfItsAlgorithms) {
  const std::vector<AlgorithmCandidates> wanted = open();
  const std::vector<TimedShape> found = timed({});
  ASSERT_FALSE(wanted.empty());
  ASSERT_EQ(found.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_EQ(found[i].key, wanted[i].key);
    EXPECT_NE(std::ranges::find(wanted[i].algorithms, found[i].algorithm),
              wanted[i].algorithms.end());
    EXPECT_EQ(found[i].seconds.size(), wanted[i].algorithms.size());
  }
}

TEST_P(BackendOfAlgorithms, TimesNothingThatIsKnown) {
  EXPECT_TRUE(timed(last_algorithms(open())).empty());
}

TEST_P(BackendOfAlgorithms, TheSameChoicesGiveTheSameBits) {
  const AlgorithmChoices choices = last_algorithms(open());
  EXPECT_EQ(trained(&choices), trained(&choices));
}

TEST_P(BackendOfAlgorithms, NoChoicesAreTheFirstAlgorithms) {
  AlgorithmChoices first;
  for (const AlgorithmCandidates& candidates : open())
    first.algorithms.emplace(candidates.key, candidates.algorithms.front());
  const AlgorithmChoices none;
  EXPECT_EQ(trained(&first), trained(nullptr));
  EXPECT_EQ(trained(&none), trained(nullptr));
}

TEST_P(BackendOfAlgorithms, ChoicesReachTheArithmetic) {
  const AlgorithmChoices choices = last_algorithms(open());
  EXPECT_NE(trained(&choices), trained(nullptr));
}

TEST_P(BackendOfAlgorithms, AnAlgorithmThatItDoesNotKnowIsAnErrorThatNamesIt) {
  const AlgorithmChoices choices{{{open().front().key, "magic"}}};
  const auto refused = GetParam().compile(network_, kRecipe, {.choices = &choices});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kInternal);
  EXPECT_NE(refused.error().message.find("magic"), std::string::npos) << refused.error().message;
}

INSTANTIATE_TEST_SUITE_P(Every, BackendOfAlgorithms, testing::ValuesIn(tested_backends()),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(Choices, SurviveTheirWayToOtherRanks) {
  const AlgorithmChoices choices{
      {{"conv 64x16x32x32 to 16, window 3x3", "direct"}, {"dense", "ab"}}};
  EXPECT_EQ(choices_from(to_text(choices)).algorithms, choices.algorithms);
  EXPECT_TRUE(choices_from(to_text(AlgorithmChoices())).algorithms.empty());
}

}  // namespace
}  // namespace detol
