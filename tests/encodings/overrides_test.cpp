// `when` and `--set`: how the parts of a space file refer to each other and are changed.

#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/rng.h"
#include "encodings/study/study_config.h"
#include "tests/encodings/space_text.h"

namespace detol {
namespace {

const Task kFashion{{1, 28, 28}, 10};

TEST(When, IsLookedUpAmongSiblingsThenOutwardThenAsAPath) {
  const std::string op = "architecture.stages[0].block.op";
  EXPECT_EQ(choices_of(load(file_with(kStageWithChoices))),
            "architecture.stages[0].depth<-" + op + " " + op +
                " architecture.stages[0].block.se<-" + op +
                " architecture.stages[0].block.dropout<-optimizer architecture.head.dropout<-" +
                op + " optimizer");
}

TEST(When, OfAFixedValueIsSettledAtOnce) {
  const StudyConfig conv =
      load(file_with(kStageWithChoices), {{"architecture.stages[0].block.op", "conv"}});
  EXPECT_EQ(choices_of(conv),
            "architecture.stages[0].depth architecture.stages[0].block.dropout<-optimizer "
            "architecture.head.dropout optimizer");
  const StudyConfig adamw = load(file_with(kStageWithChoices), {{"parameters.optimizer", "adamw"}});
  EXPECT_FALSE(adamw.space.index_of("architecture.stages[0].block.dropout"));
  Rng rng(1);
  EXPECT_TRUE(adamw.candidate(adamw.space.sample(rng), kFashion));
}

TEST(When, OfAChoiceThatNeverExistsNeverHolds) {
  const std::string chained = R"(  stages:
    - block: {op: conv, kernel: {type: categorical, choices: [3, 5], when: {op: mbconv}},
              se: {type: bool, when: {kernel: 5}}}
)";
  EXPECT_EQ(choices_of(load(file_with(chained))), "");
}

TEST(Overrides, ReplaceAddAndReachIntoLists) {
  const StudyConfig study = load(file_with(kPlainStage),
                                 {{"training.epochs", "5"},
                                  {"search.pruner.name", "median"},
                                  {"search.pruner.warmup", "2"},
                                  {"objectives[0].metric", "train_loss"},
                                  {"architecture.stages[0].depth", "{type: int, low: 1, high: 4}"},
                                  {"budget", "200trials,2h"}});
  EXPECT_EQ(study.max_epochs, 5);
  EXPECT_EQ(study.pruner.name, "median");
  EXPECT_EQ(study.pruner.options.at("warmup"), "2");
  EXPECT_EQ(study.objectives[0].metric, "train_loss");
  EXPECT_EQ(choices_of(study), "architecture.stages[0].depth");
  EXPECT_EQ(study.budget, "200trials,2h");
  EXPECT_EQ(study.budget_at.text, "--set budget");
}

TEST(Overrides, ASeparatorAloneIsThatCharacter) {
  for (const char* sign : {",", "|", "\t", ":", "#", "-"}) {
    const StudyConfig study = load(file_with(kPlainStage),
                                   {{"data", "{format: csv, path: /d}"}, {"data.separator", sign}});
    EXPECT_EQ(study.data.columns.separator, sign);
  }
}

TEST(Overrides, APathThatIsNowhereIsOfTheFolderWhereTheCommandRuns) {
  const auto study =
      read_study_text(file_with(kPlainStage), "far/away/s.yaml", {{"data.path", "no_such_file"}});
  ASSERT_TRUE(study) << study.error().message;
  EXPECT_EQ(study->data.path, std::filesystem::absolute("no_such_file").string());
}

TEST(Overrides, AnOptionOfABareWordMakesItAName) {
  const StudyConfig study = load(file_with(kPlainStage, "search: {algorithm: evolution}\n"),
                                 {{"search.algorithm.population", "8"}});
  EXPECT_EQ(study.algorithm.name, "evolution");
  EXPECT_EQ(study.algorithm.options.at("population"), "8");
  EXPECT_EQ(study.algorithm_at.text, "--set search.algorithm.population");
}

struct OverrideCase {
  Override given;
  std::string message;
};

TEST(Overrides, BadOnesAreUsageErrorsThatNameThem) {
  const std::vector<OverrideCase> cases = {
      {{"training.epoch", "5"},
       "--set training.epoch: training: unknown key 'epoch'; did you mean 'epochs'?"},
      {{"trainin.epochs", "5"},
       "--set trainin.epochs: unknown key 'trainin'; did you mean 'training'?"},
      {{"training.epochs", "0"}, "--set training.epochs: training.epochs is '0'; it must be"},
      {{"training.epochs", "["}, "--set training.epochs: not YAML: "},
      {{"training.epochs", ""}, "--set training.epochs: training.epochs is empty; it must be"},
      {{"training.epochs.x", "1"}, "--set training.epochs.x: training.epochs is a map"},
      {{"objectives.metric", "val_loss"}, "--set objectives.metric: a list is in the way"},
      {{"architecture.stages[1].depth", "1"},
       "--set architecture.stages[1].depth: no such item; stages has 1, counted from 0"},
      {{"", "1"}, "--set : not a path such as training.epochs"},
      {{"a..b", "1"}, "--set a..b: not a path such as training.epochs"},
      {{"a[x]", "1"}, "--set a[x]: not a path such as training.epochs"},
  };
  for (const OverrideCase& row : cases) {
    const auto study = load_study_config(file_with(kPlainStage), "s.yaml", {row.given});
    ASSERT_FALSE(study) << row.message;
    EXPECT_EQ(study.error().code, ErrorCode::kUsage);
    EXPECT_EQ(study.error().message.substr(0, row.message.size()), row.message);
  }
}

}  // namespace
}  // namespace detol
