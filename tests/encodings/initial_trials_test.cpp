// The trials that a space file names to begin with.

#include <gtest/gtest.h>

#include "tests/encodings/space_text.h"

namespace detol {
namespace {

TEST(InitialTrials, AreTypedByTheirChoices) {
  const StudyConfig study =
      load(file_with(kPlainStage,
                     "parameters: {lr: {type: float, low: 0.1, high: 2}, optimizer: "
                     "{type: categorical, choices: [sgd, adamw]}}\n"
                     "search: {initial_trials: [{lr: 1, optimizer: \"sgd\"}]}\n"));
  ASSERT_EQ(study.initial_trials.size(), 1u);
  const auto genome = study.space.genome(study.initial_trials[0]);
  ASSERT_TRUE(genome);
  EXPECT_EQ(genome->number("lr"), 1);
  EXPECT_EQ(genome->text("optimizer"), "sgd");
}

TEST(InitialTrials, AndConditionsFindAChoiceByItsWord) {
  const StudyConfig study =
      load_study_config(
          "version: 1\nstudy: s\nexternal: {}\nparameters:\n"
          "  v: {type: categorical, choices: [3.10, 3.1, 007, 1e3, '7']}\n"
          "  a: {type: bool, when: {v: 3.10}}\n"
          "  b: {type: bool, when: {v: [007, 1000]}}\n"
          "  c: {type: bool, when: {v: '7'}}\n"
          "objectives: [{metric: loss, direction: minimize}]\n"
          "search: {initial_trials: [{v: 3.10}, {v: 3.1}, {v: 007}, {v: 1e3}, "
          "{v: 1000.0}, {v: 7}]}\n",
          "s.yaml")
          .value();
  std::vector<Value> first;
  for (const auto& trial : study.initial_trials) first.push_back(trial.front().second);
  EXPECT_EQ(first, (std::vector<Value>{std::string("3.10"), 3.1, std::string("007"), 1e3, 1e3,
                                       std::string("7")}));
  const auto values = [&](const char* name) {
    return study.space.domains()[*study.space.index_of(name)].when->values;
  };
  EXPECT_EQ(values("a"), std::vector<Value>{std::string("3.10")});
  EXPECT_EQ(values("b"), (std::vector<Value>{std::string("007"), 1e3}));
  EXPECT_EQ(values("c"), std::vector<Value>{std::string("7")});
}

TEST(InitialTrials, AreCompletedFromTheSeed) {
  const std::string file = file_with(
      kPlainStage,
      "parameters: {lr: {type: float, low: 0.1, high: 2}, optimizer: {type: categorical, choices: "
      "[sgd, adamw]}, momentum: {type: float, low: 0, high: 0.9, when: {optimizer: sgd}}}\n"
      "search: {initial_trials: [{lr: 1}, {momentum: 0.5}, {}, {}]}\n");
  const auto genomes = initial_genomes(load(file)).value();
  ASSERT_EQ(genomes.size(), 4u);
  EXPECT_EQ(genomes[0].number("lr"), 1);
  EXPECT_EQ(genomes[1].number("momentum"), 0.5);
  EXPECT_EQ(genomes[1].text("optimizer"), "sgd");
  EXPECT_FALSE(genomes[2] == genomes[3]);
  EXPECT_EQ(initial_genomes(load(file)).value(), genomes);
  EXPECT_EQ(initial_genomes(load(load(file).text)).value(), genomes);
  const auto of_other_seed = initial_genomes(load(file + "seed: 8\n")).value();
  EXPECT_EQ(of_other_seed[0].number("lr"), 1);
  EXPECT_NE(of_other_seed[1].number("lr"), genomes[1].number("lr"));
}

}  // namespace
}  // namespace detol
