// The space file, from its text to a study and its candidates.

#include "encodings/study/study_config.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "core/rng.h"
#include "encodings/schema/units.h"
#include "tests/encodings/space_text.h"

namespace detol {
namespace {

const Task kFashion{{1, 28, 28}, 10};

const std::vector<std::string> kConfigs = {"cnn", "cnn_large", "darts_cells", "resnet_hpo",
                                           "hybrid"};

StudyConfig read_config(const std::string& name, const std::vector<Override>& overrides = {}) {
  auto study =
      read_study_config(std::string(DETOL_SOURCE_DIR) + "/configs/" + name + ".yaml", overrides);
  EXPECT_TRUE(study) << study.error().message;
  return study.value_or(StudyConfig{});
}

TEST(CnnSpace, HasTheChoicesOfItsFileInItsOrder) {
  const StudyConfig study = read_config("cnn");
  EXPECT_EQ(study.space.size(), 1 + 3 * 4 + 1 + 5);
  EXPECT_EQ(choices_of(study).substr(0, 105),
            "architecture.stem.channels architecture.stages[0].depth "
            "architecture.stages[0].block.op architecture.stag");
  EXPECT_EQ(study.space.domains().back().name, "batch_size");
  EXPECT_EQ(study.max_epochs, 9);
  EXPECT_EQ(study.algorithm.name, "portfolio");
  EXPECT_EQ(study.pruner.name, "hyperband");
  EXPECT_EQ(study.pruner.options.at("reduction_factor"), "3");
  EXPECT_EQ(study.constraints.max_memory, 400e6);
  EXPECT_EQ(study.resources.max_trial_duration_s, 7200);
}

// An epoch is 54,000 images, forward and backward three times the forward FLOPs; at an
// assumed 100 GFLOP/s the median candidate must stay within ten seconds.
TEST(CnnSpace, ATypicalCandidateIsCheap) {
  const StudyConfig study = read_config("cnn");
  std::vector<double> flops;
  for (std::uint64_t n = 0; n < 500; ++n) {
    Rng rng = Rng(1).split(n);
    if (const auto made = study.candidate(study.space.sample(rng), kFashion))
      flops.push_back(static_cast<double>(made->cost.flops));
  }
  std::ranges::sort(flops);
  EXPECT_GT(flops.size(), 250u);
  EXPECT_LE(flops[flops.size() / 2] * 3 * 54'000 / 1e11, 10);
}

TEST(EveryConfig, SamplesAreCandidatesOrRefusedWithNumbers) {
  for (const std::string& name : kConfigs) {
    const StudyConfig study = read_config(name);
    int made = 0;
    for (std::uint64_t n = 0; n < 300; ++n) {
      SCOPED_TRACE(name + ", seed 1, case " + std::to_string(n));
      Rng rng = Rng(1).split(n);
      const auto candidate = study.candidate(study.space.sample(rng), kFashion);
      if (candidate) {
        ++made;
        EXPECT_EQ(candidate->network.output().shape, (Shape{10, 1, 1}));
        EXPECT_NE(candidate->arch_hash, 0u);
      } else {
        EXPECT_EQ(candidate.error().cause, Cause::kTooLarge) << candidate.error().reason;
        EXPECT_NE(candidate.error().reason.find(" > "), std::string::npos);
      }
    }
    EXPECT_GT(made, 100) << name;
  }
}

TEST(EveryConfig, TextLoadsAsTheSameStudy) {
  for (const std::string& name : kConfigs) {
    const StudyConfig study = read_config(name, {{"seed", "7"}, {"search.algorithm", "random"}});
    const StudyConfig again = load(study.text);
    EXPECT_EQ(again.text, study.text);
    EXPECT_EQ(again.seed, 7u);
    EXPECT_EQ(again.algorithm.name, "random");
    EXPECT_EQ(choices_of(again), choices_of(study));
    for (std::uint64_t n = 0; n < 50; ++n) {
      Rng rng = Rng(2).split(n);
      const Genome genome = study.space.sample(rng);
      const auto back = again.space.genome(genome.assignments());
      ASSERT_TRUE(back) << back.error().message;
      const Genome same = *back;
      EXPECT_EQ(again.architecture_json(same), study.architecture_json(genome));
      const auto a = study.candidate(genome, kFashion), b = again.candidate(same, kFashion);
      ASSERT_EQ(a.has_value(), b.has_value());
      if (a) {
        EXPECT_EQ(a->arch_hash, b->arch_hash);
        EXPECT_EQ(a->recipe.lr, b->recipe.lr);
      }
    }
  }
}

TEST(StudyConfig, HasDefaultsForWhatIsNotSaid) {
  const StudyConfig study = load(file_with(kPlainStage));
  EXPECT_EQ(study.seed, 0u);
  EXPECT_EQ(study.data.validation, 0.1);
  EXPECT_EQ(study.algorithm.name, "portfolio");
  EXPECT_EQ(study.pruner.name, "none");
  EXPECT_EQ(study.budget, "");
  EXPECT_EQ(study.algorithm_at.text, "s.yaml");
  EXPECT_EQ(study.resources.workers, 0);
  EXPECT_EQ(study.resources.attempts, 3);
  EXPECT_EQ(study.space.size(), 0u);
  Rng rng(1);
  const auto candidate = study.candidate(study.space.sample(rng), kFashion);
  ASSERT_TRUE(candidate);
  EXPECT_EQ(candidate->recipe.lr, Recipe{}.lr);
  EXPECT_EQ(candidate->recipe.epochs, 2);
}

TEST(StudyConfig, OfATrainingMayHaveCostsAsObjectives) {
  std::string file = file_with(kPlainStage);
  const std::string one = "[{metric: val_loss, direction: minimize}]";
  ASSERT_NE(file.find(one), std::string::npos);
  file.replace(file.find(one), one.size(),
               "[{metric: val_loss, direction: minimize}, {metric: params, direction: minimize}]");
  const StudyConfig study = load(file);
  EXPECT_EQ(study.objectives.back().metric, "params");
  EXPECT_EQ(metric_names(study).back(), "params");
}

TEST(StudyConfig, ConstrainsMetricsAndSaysHowTheyAreMeasured) {
  std::string file = file_with(kPlainStage);
  const std::string one = "[{metric: val_loss, direction: minimize}]";
  ASSERT_NE(file.find(one), std::string::npos);
  file.replace(file.find(one), one.size(),
               "[{metric: val_loss, direction: minimize}, "
               "{metric: latency, direction: minimize, batch: 64, reference: 0.25}]\n"
               "constraints: [{metric: latency, max: 0.5}, {metric: val_f1, min: 0.8, max: 1}, "
               "{metric: params, max: 5000}, "
               "{metric: epochs_to_target, max: 3, target: val_accuracy>=0.9}]");
  const StudyConfig study = load(file);
  EXPECT_EQ(study.latency_batch, 64);
  EXPECT_EQ(study.objectives[0].reference, std::nullopt);
  EXPECT_EQ(study.objectives[1].reference, 0.25);
  EXPECT_EQ(to_text(study.epochs_target.value()), "val_accuracy>=0.9");
  EXPECT_EQ(study.constraints.max_params, 5000);  // refused before it is trained
  ASSERT_EQ(study.metric_constraints.size(), 4u);
  EXPECT_EQ(study.metric_constraints[1].low, 0.8);
  EXPECT_EQ(study.metric_constraints[1].high, 1);
  EXPECT_EQ(study.metric_constraints[0].low, std::nullopt);
  const std::vector<std::string_view> names = metric_names(study);
  for (const std::string_view name :
       {"params", "latency", "epochs_to_target", "constraint_violation"})
    EXPECT_EQ(std::ranges::count(names, name), 1) << name;
  EXPECT_EQ(std::ranges::count(names, "memory"), 0);
}

TEST(StudyConfig, EarlyReportsAreSharesOfAnEpochInTheirOrder) {
  std::string file = file_with(kPlainStage);
  const std::string key = "epochs: 2";
  ASSERT_NE(file.find(key), std::string::npos);
  file.replace(file.find(key), key.size(), "epochs: 2, early_reports: [3, 9]");
  EXPECT_EQ(load(file).early_reports, (std::vector{1.0 / 9, 1.0 / 3}));
}

TEST(StudyConfig, ANewStudyKeepsTheBestEpochUnlessTheFileSaysOtherwise) {
  const StudyConfig unsaid = load(file_with(kPlainStage));
  EXPECT_EQ(unsaid.keep, std::nullopt);
  const StudyConfig fresh = for_new_study(unsaid).value();
  EXPECT_EQ(fresh.keep, Keep::kBest);
  EXPECT_EQ(load(fresh.text).keep, Keep::kBest);
  const StudyConfig last = load_study_config(unsaid.text, "s", {{"training.keep", "last"}}).value();
  EXPECT_EQ(for_new_study(last).value().keep, Keep::kLast);
}

TEST(StudyConfig, AFileThatDoesNotSayItKeepsTheEpochThatTheStudyWasBegunWith) {
  const StudyConfig unsaid = load(file_with(kPlainStage));
  EXPECT_EQ(for_begun_study(unsaid, unsaid.text).value().keep, std::nullopt);
  const StudyConfig begun = for_new_study(unsaid).value();
  EXPECT_EQ(for_begun_study(unsaid, begun.text).value().text, begun.text);
}

TEST(StudyConfig, RecipesTakeFixedAndChosenValues) {
  const StudyConfig study = load(R"(version: 1
study: s
data: {format: idx, path: /d, augment: {random_crop: {padding: {type: int, low: 3, high: 3}}, horizontal_flip: true, cutout: {size: 8}}}
architecture: {type: chain, stages: [{block: {op: conv}}]}
parameters:
  optimizer: {type: categorical, choices: [adamw]}
  lr: {type: float, low: 0.25, high: 0.25}
  momentum: {type: float, low: 0.5, high: 0.6, when: {optimizer: [adamw]}}
  nesterov: false
  batch_size: 32
  weight_decay: 1.0e-3
  label_smoothing: 0.1
training:
  epochs: {type: categorical, choices: [4, 12, 8]}
  schedule: {name: constant, warmup_epochs: {type: int, low: 2, high: 2}}
  mixup: {type: float, low: 0.2, high: 0.2}
objectives: [{metric: val_loss, direction: minimize}]
)");
  EXPECT_EQ(study.max_epochs, 12);
  EXPECT_EQ(study.longest_warmup, 2);
  Rng rng(1);
  const Recipe recipe = study.candidate(study.space.sample(rng), kFashion)->recipe;
  EXPECT_EQ(recipe.optimizer, "adamw");
  EXPECT_EQ(recipe.lr, 0.25);
  EXPECT_GE(recipe.momentum, 0.5);
  EXPECT_LE(recipe.momentum, 0.6);
  EXPECT_FALSE(recipe.nesterov);
  EXPECT_EQ(recipe.batch_size, 32);
  EXPECT_EQ(recipe.weight_decay, 1e-3);
  EXPECT_EQ(recipe.label_smoothing, 0.1);
  EXPECT_EQ(recipe.epochs % 4, 0);
  EXPECT_EQ(recipe.schedule, "constant");
  EXPECT_EQ(recipe.warmup_epochs, 2);
  EXPECT_EQ(recipe.crop_padding, 3);
  EXPECT_TRUE(recipe.horizontal_flip);
  EXPECT_EQ(recipe.cutout, 8);
  EXPECT_EQ(recipe.mixup, 0.2);
}

TEST(StudyConfig, RecipesTakeSchedulesScalingClippingAndAverages) {
  const StudyConfig study = load(R"(version: 1
study: s
data: {format: idx, path: /d}
architecture: {type: chain, stages: [{block: {op: conv}}]}
parameters: {optimizer: lars, trust: 0.01}
training:
  epochs: 9
  schedule: {name: step, milestones: [4, 6], gamma: {type: float, low: 0.5, high: 0.5}}
  scale_lr: {name: linear, base_batch: 64}
  clip_norm: {type: float, low: 2, high: 2}
  ema: 0.99
  compression: {name: top_k, share: 0.05}
  staleness: {type: int, low: 2, high: 2}
objectives: [{metric: val_loss, direction: minimize}]
)");
  Rng rng(1);
  const Recipe recipe = study.candidate(study.space.sample(rng), kFashion)->recipe;
  EXPECT_EQ(recipe.optimizer, "lars");
  EXPECT_EQ(recipe.trust, 0.01);
  EXPECT_EQ(recipe.schedule, "step");
  EXPECT_EQ(recipe.milestones, (std::vector{4, 6}));
  EXPECT_EQ(recipe.gamma, 0.5);
  EXPECT_EQ(recipe.scale_lr, "linear");
  EXPECT_EQ(recipe.base_batch, 64);
  EXPECT_EQ(recipe.clip_norm, 2);
  EXPECT_EQ(recipe.ema, 0.99);
  EXPECT_EQ(recipe.compression, "top_k");
  EXPECT_EQ(recipe.compression_share, 0.05);
  EXPECT_EQ(recipe.staleness, 2);
}

TEST(StudyConfig, ABareScheduleOrAlgorithmIsItsName) {
  const StudyConfig study = load(file_with(kPlainStage, "search: {algorithm: random}\n"),
                                 {{"training.schedule", "constant"}});
  EXPECT_EQ(study.algorithm.name, "random");
  EXPECT_TRUE(study.algorithm.options.empty());
  Rng rng(1);
  EXPECT_EQ(study.candidate(study.space.sample(rng), kFashion)->recipe.schedule, "constant");
}

TEST(StudyConfig, TellsWhereNamesStandThatOthersCheck) {
  const StudyConfig study = load(file_with(
      kPlainStage, "search: {algorithm: evolutoin, pruner: {name: ashaa}}\nbudget: 3 apples\n"));
  EXPECT_EQ(study.algorithm_at.text, "s.yaml:9:21");
  EXPECT_EQ(study.pruner_at.text, "s.yaml:9:40");
  EXPECT_EQ(study.budget_at.text, "s.yaml:10:9");
  EXPECT_EQ(study.data_format_at.text, "s.yaml:3:16");
  EXPECT_EQ(study.data_path_at.text, "s.yaml:3:27");
  EXPECT_EQ(study.initial_trials_at.text, "s.yaml");
}

TEST(StudyConfig, ConstraintsRefuseWithTheNumbers) {
  const StudyConfig study = load(file_with(kPlainStage + "  constraints: {max_params: 100}\n"));
  Rng rng(1);
  const auto refused = study.candidate(study.space.sample(rng), kFashion);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().cause, Cause::kTooLarge);
  // Stem 9*16 + 32, conv 9*16*16 + 32, linear 170.
  EXPECT_EQ(refused.error().reason, "params 2,682 > 100");
  ASSERT_TRUE(refused.error().cost);
  EXPECT_EQ(refused.error().cost->params, 2682);
}

TEST(StudyConfig, OfTwoLimitsOnACostTheLowerHolds) {
  const StudyConfig study =
      load(file_with(kPlainStage + "  constraints: {max_params: 100, max_flops: 700}\n",
                     "constraints: [{metric: params, max: 200}, {metric: flops, max: 800}]\n"));
  EXPECT_EQ(study.constraints.max_params, 100);
  EXPECT_EQ(study.constraints.max_flops, 700);
}

TEST(StudyConfig, ArchitectureJsonHasEveryChoiceMade) {
  const StudyConfig study = load(file_with(kStageWithChoices));
  const Genome genome = study.space
                            .genome({{{"architecture.stages[0].block.op", "mbconv"},
                                      {"architecture.stages[0].block.se", true},
                                      {"optimizer", "adamw"}}})
                            .value();
  EXPECT_EQ(study.architecture_json(genome),
            R"({"head":{},"stages":[{"block":{"op":"mbconv","se":true}}],"type":"chain"})");
}

TEST(StudyConfig, RepeatMakesStagesWithChoicesOfTheirOwn) {
  const StudyConfig study = load(file_with(R"(  stages:
    - {repeat: 2, depth: {type: int, low: 1, high: 2}, block: {op: conv}}
    - {block: {op: {type: categorical, choices: [conv, dense]}}}
)"));
  EXPECT_EQ(choices_of(study),
            "architecture.stages[0].depth architecture.stages[1].depth "
            "architecture.stages[2].block.op");
}

TEST(StudyConfig, AliasesStandForWhatTheyName) {
  const StudyConfig study = load(file_with(R"(  stages:
    - {block: &block {op: {type: categorical, choices: [conv, mbconv]}}}
    - {block: *block}
)"));
  EXPECT_EQ(choices_of(study), "architecture.stages[0].block.op architecture.stages[1].block.op");
}

TEST(StudyConfig, TooManyStagesAreRefused) {
  std::string stages = "  stages:\n";
  for (int i = 0; i < 5; ++i) stages += "    - {repeat: 64, block: {op: conv}}\n";
  EXPECT_EQ(message_of(file_with(stages)),
            "s.yaml:11:7: architecture.stages has more than 256 items");
}

// Each test gets a folder, which is removed at its end.
class StudyFile : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_ / "data"); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path folder_ = std::filesystem::path(testing::TempDir()) / "detol_study_file";
};

TEST_F(StudyFile, ARelativeDataPathIsMeantFromTheFilesFolder) {
  std::ofstream(folder_ / "space.yaml")
      << file_with(kPlainStage).replace(file_with(kPlainStage).find("/data"), 5, "data");
  const auto study = read_study_config((folder_ / "space.yaml").string());
  ASSERT_TRUE(study) << study.error().message;
  EXPECT_EQ(study->data.path, (folder_ / "data").string());
  EXPECT_EQ(load(study->text).data.path, study->data.path);
}

struct Quantity {
  std::string text;
  double value;  // negative: the text is refused
};

TEST(Durations, ReadTheirUnits) {
  for (const Quantity& row : std::vector<Quantity>{{"90s", 90},
                                                   {"10min", 600},
                                                   {"2h", 7200},
                                                   {"2d12h", 216000},
                                                   {"1.5h", 5400},
                                                   {"", -1},
                                                   {"5", -1},
                                                   {"h", -1},
                                                   {"-1h", -1},
                                                   {"1h ", -1},
                                                   {"1hour", -1},
                                                   {"infs", -1}}) {
    EXPECT_EQ(parse_duration(row.text).value_or(-1), row.value) << row.text;
  }
}

TEST(Sizes, ReadTheirUnits) {
  for (const Quantity& row : std::vector<Quantity>{{"400MB", 4e8},
                                                   {"2GiB", 2147483648.0},
                                                   {"1e6", 1e6},
                                                   {"64 kB", 64000},
                                                   {"12", 12},
                                                   {"", -1},
                                                   {"MB", -1},
                                                   {"4Mb", -1},
                                                   {"1e400", -1},
                                                   {"-1MB", -1}}) {
    EXPECT_EQ(parse_size(row.text).value_or(-1), row.value) << row.text;
  }
}

}  // namespace
}  // namespace detol
