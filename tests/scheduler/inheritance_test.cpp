// From which trial a new one inherits.

#include "scheduler/run/inheritance.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "tests/support/temp_folder.h"

namespace detol {
namespace {

namespace fs = std::filesystem;

// The networks of a stage of `op` with so many blocks.
constexpr std::string_view kStages = R"(version: 1
study: s
data: {format: idx, path: /data}
architecture:
  type: chain
  stages:
    - depth: {type: int, low: 1, high: 9}
      block: {op: {type: categorical, choices: [conv, residual]}}
parameters: {lr: {type: float, low: 0.01, high: 0.1}}
training: {epochs: 9}
objectives: [{metric: val_accuracy, direction: maximize}]
search: {inherit: )";

class InheritanceTest : public testing::Test {
 protected:
  void begin(std::string_view mode) {
    config_ = load_study_config(std::string(kStages) + std::string(mode) + "}\n", "s.yaml").value();
    state_.emplace(config_.space, config_.objectives);
    inherit_ = make_inheritance(config_, kTask, folder_.path());
  }

  std::vector<std::pair<std::string, Value>> params(const std::string& op, std::int64_t depth) {
    return {{"architecture.stages[0].depth", depth},
            {"architecture.stages[0].block.op", op},
            {"lr", 0.05}};
  }

  // Adds the next trial, which ended with this accuracy after three epochs.
  void add(const std::string& op, std::int64_t depth, double accuracy, bool has_checkpoint = true) {
    const TrialId id = state_->next_id();
    event::Asked asked;
    asked.trial = id;
    asked.params = params(op, depth);
    ASSERT_TRUE(state_->apply(asked));
    ASSERT_TRUE(state_->apply(event::Started{.trial = id, .worker = "w"}));
    ASSERT_TRUE(state_->apply(
        event::Reported{.trial = id, .epoch = 3, .metrics = {{"val_accuracy", accuracy}}}));
    ASSERT_TRUE(state_->apply(event::Told{.trial = id, .outcome = Measured{.values = {accuracy}}}));
    if (!has_checkpoint) return;
    fs::create_directories(folder_.path() / std::to_string(id));
    std::ofstream(folder_.path() / std::to_string(id) / "epoch-3.a1.ckpt") << id;
  }

  std::optional<ParentWeights> next(const std::string& op, std::int64_t depth,
                                    std::optional<TrialId> parent = {}) {
    const Trial trial{.id = state_->next_id(),
                      .genome = config_.space.genome(params(op, depth)).value(),
                      .parent = parent};
    return inherit_(trial, config_.candidate(trial.genome, kTask).value(), *state_);
  }

  fs::path kept_for(TrialId trial) const {
    return folder_.path() / std::to_string(trial) / "parent" / "epoch-3.a1.ckpt";
  }

  static inline const Task kTask{.input = {3, 8, 8}, .classes = 5};
  testing_support::TempFolder folder_;
  StudyConfig config_;
  std::optional<StudyState> state_;
  std::function<std::optional<ParentWeights>(const Trial&, const Candidate&, const StudyState&)>
      inherit_;
};

TEST_F(InheritanceTest, IsOfNobodyUnlessTheStudySaysSo) {
  begin("none");
  EXPECT_EQ(inherit_, nullptr);
  EXPECT_EQ(make_preserves(config_, kTask), nullptr);
}

TEST_F(InheritanceTest, OfTheNearestPrefersAlikeNetworksAndOfThoseTheBestValue) {
  begin("nearest");
  add("residual", 2, 0.99);
  add("conv", 2, 0.5);
  add("conv", 2, 0.7);
  add("conv", 9, 0.98, false);
  EXPECT_EQ(next("conv", 2), (ParentWeights{2, 3}));
  EXPECT_TRUE(fs::exists(kept_for(4)));
  EXPECT_EQ(next("residual", 3), (ParentWeights{0, 3}));
}

TEST_F(InheritanceTest, OfTheParentIsThatOfTheOneThatTheSearcherNames) {
  begin("parent");
  add("conv", 2, 0.5);
  add("conv", 2, 0.7);
  EXPECT_EQ(next("conv", 3, 0), (ParentWeights{0, 3}));
  EXPECT_EQ(next("conv", 3), std::nullopt);
  EXPECT_TRUE(fs::exists(kept_for(2)));
}

TEST_F(InheritanceTest, OfATrialThatTookAnOutcomeIsThatOfTheOneThatWasTrained) {
  begin("parent");
  add("conv", 2, 0.5);
  event::Asked asked;
  asked.trial = 1;
  asked.params = params("conv", 2);
  ASSERT_TRUE(state_->apply(asked));
  ASSERT_TRUE(state_->apply(event::Told{
      .trial = 1, .reason = {EndCause::kSameTrial, "", 0}, .outcome = Measured{.values = {0.5}}}));
  EXPECT_EQ(next("conv", 3, 1), (ParentWeights{0, 3}));
}

TEST_F(InheritanceTest, OfNobodyWhoseCheckpointIsGone) {
  begin("parent");
  add("conv", 2, 0.5, false);
  EXPECT_EQ(next("conv", 3, 0), std::nullopt);
}

// What is kept is the parent's as it was, also if that is trained on or removed.
TEST_F(InheritanceTest, KeepsTheWeightsWhateverHappensToTheParent) {
  begin("parent");
  add("conv", 2, 0.5);
  ASSERT_TRUE(next("conv", 3, 0));
  fs::remove_all(folder_.path() / "0");
  std::string kept;
  std::ifstream(kept_for(1)) >> kept;
  EXPECT_EQ(kept, "0");
}

TEST_F(InheritanceTest, ADeeperChildPreservesAndAShallowerOneDoesNot) {
  begin("parent");
  const auto preserves = make_preserves(config_, kTask);
  const auto genome = [&](std::int64_t depth) {
    return config_.space.genome(params("conv", depth)).value();
  };
  EXPECT_TRUE(preserves(genome(2), genome(4)));
  EXPECT_FALSE(preserves(genome(4), genome(2)));
}

}  // namespace
}  // namespace detol
