// What a study that was begun takes of another space file.

#include "encodings/study/study_changes.h"

#include <gtest/gtest.h>

#include "encodings/study/study_config.h"

namespace detol {
namespace {

constexpr const char* kBegun = R"(
version: 1
study: s
seed: 4
external: {}
parameters:
  lr: {type: float, low: 1.0e-3, high: 0.1, log: true}
  n: {type: int, low: 2, high: 10, step: 2}
  opt: {type: categorical, choices: [sgd, adam]}
  momentum: {type: float, low: 0.5, high: 0.9, when: {opt: sgd}}
objectives: [{metric: loss, direction: minimize}]
budget: 10trials
)";

std::string with(const std::vector<Override>& overrides) {
  return load_study_config(kBegun, "space", overrides).value().text;
}

std::string begun() {
  return with({});
}

TEST(StudyChanges, BudgetAndResourcesAndTheWayNumbersAreWrittenAreNoChange) {
  const auto same = changes_of_study(
      begun(),
      with({{"budget", "2h"}, {"resources.workers", "7"}, {"parameters.lr.low", "0.001"}}));
  ASSERT_TRUE(same) << same.error().message;
  EXPECT_TRUE(same->empty());
}

TEST(StudyChanges, TheWordOfAConstantIsAChange) {
  const std::string before = with({{"parameters.v", "3.10"}, {"parameters.w", "1e-3"}});
  EXPECT_TRUE(changes_of_study(before, before));
  EXPECT_FALSE(changes_of_study(before, with({{"parameters.v", "3.1"}, {"parameters.w", "1e-3"}})));
}

TEST(StudyChanges, RangesMayGrowAndChoicesBecomeMore) {
  const auto changes =
      changes_of_study(begun(), with({{"parameters.lr.high", "0.5"},
                                      {"parameters.n.low", "0"},
                                      {"parameters.opt.choices", "[lion, sgd, adam]"},
                                      {"parameters.momentum.low", "0"}}));
  ASSERT_TRUE(changes) << changes.error().message;
  std::vector<std::string> texts;
  for (const KeyChange& change : *changes) texts.push_back(to_text(change));
  EXPECT_EQ(texts, (std::vector<std::string>{
                       "parameters.lr.high: 0.1 -> 0.5", "parameters.momentum.low: 0.5 -> 0",
                       "parameters.n.low: 2 -> 0",
                       "parameters.opt.choices: [sgd, adam] -> [lion, sgd, adam]"}));
}

struct Refusal {
  const char* name;
  std::vector<Override> overrides;
  const char* says;
  friend void PrintTo(const Refusal& one, std::ostream* out) { *out << one.name; }
};

class StudyChangesRefused : public testing::TestWithParam<Refusal> {};

TEST_P(StudyChangesRefused, SaysTheKeyAndWhatMayChange) {
  const auto changes = changes_of_study(begun(), with(GetParam().overrides));
  ASSERT_FALSE(changes);
  EXPECT_EQ(changes.error().code, ErrorCode::kInput);
  EXPECT_NE(changes.error().message.find(GetParam().says), std::string::npos)
      << changes.error().message;
  EXPECT_NE(changes.error().message.find("ranges of parameters may grow"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(
    All, StudyChangesRefused,
    testing::Values(
        Refusal{"Narrower", {{"parameters.lr.low", "0.01"}}, "lr had the range 0.001 to 0.1"},
        Refusal{"NarrowerAbove", {{"parameters.n.high", "8"}}, "n had the range"},
        Refusal{
            "LostChoice", {{"parameters.opt.choices", "[sgd, lion]"}}, "opt had the choice adam"},
        Refusal{"OtherGrid", {{"parameters.n.low", "1"}}, "the grid of n has other points"},
        Refusal{"AnotherSeed", {{"seed", "5"}}, "seed: 4 -> 5"},
        Refusal{"AnotherStep", {{"parameters.n.step", "1"}}, "parameters.n.step: 2 -> 1"},
        Refusal{
            "NoLogarithm", {{"parameters.lr.log", "false"}}, "parameters.lr.log: true -> false"},
        Refusal{"NewParameter",
                {{"parameters.decay", "{type: float, low: 0, high: 1}"}},
                "parameters.decay.high: nothing -> 1"},
        Refusal{"AnotherObjective",
                {{"objectives", "[{metric: loss, direction: maximize}]"}},
                "objectives[0].direction: minimize -> maximize"},
        Refusal{
            "AnotherPruner", {{"search.pruner", "median"}}, "search.pruner: nothing -> median"}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace detol
