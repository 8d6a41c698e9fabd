#include "scheduler/run/checkpoint_retention.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "core/rng.h"
#include "tests/support/temp_folder.h"

namespace detol {
namespace {

namespace fs = std::filesystem;

// A study whose trials write two checkpoints an epoch, and its retention.
class CheckpointRetentionTest : public testing::Test {
 protected:
  explicit CheckpointRetentionTest(std::vector<Objective> objectives = {minimize("loss")})
      : state(space(), std::move(objectives)) {
    retention->began(state);
  }

  static Space space() { return SpaceBuilder().add_float("x", 0, 1).build().value(); }

  std::unique_ptr<Observer> make() const {
    return make_checkpoint_retention({folder.path(), "asha"});
  }

  fs::path file(TrialId trial, int epoch) const {
    return folder.path() / std::to_string(trial) / fmt::format("epoch-{}.a1.ckpt", epoch);
  }

  void happen(const Event& event) {
    ASSERT_TRUE(state.apply(event));
    retention->happened(event, state);
  }

  void begin(TrialId trial) {
    event::Asked asked;
    asked.trial = trial;
    asked.params = {{"x", 0.5}};
    happen(asked);
    happen(event::Started{.trial = trial, .worker = "w"});
  }

  // Trains up to `epoch` and reports it.
  void train(TrialId trial, int epoch, std::vector<std::pair<std::string, double>> metrics) {
    fs::create_directories(file(trial, epoch).parent_path());
    for (int e = std::max(1, epoch - 1); e <= epoch; ++e) std::ofstream(file(trial, e)) << "x";
    happen(event::Reported{.trial = trial, .epoch = epoch, .metrics = std::move(metrics)});
  }

  void end(TrialId trial, std::string_view ended_as, std::string_view reason) {
    const TrialState ended = trial_state_from(ended_as).value();
    happen(event::Told{.trial = trial,
                       .state = ended,
                       .reason = end_reason_from(ended, reason).value(),
                       .outcome = Measured{.values = state.find(trial)->values}});
  }

  void run(TrialId trial, int epoch, double loss, const std::string& end_state,
           const std::string& reason) {
    begin(trial);
    train(trial, epoch, {{"loss", loss}});
    end(trial, end_state, reason);
  }

  int files() const {
    int count = 0;
    for (const auto& entry : fs::recursive_directory_iterator(folder.path()))
      count += entry.is_regular_file() ? 1 : 0;
    return count;
  }

  const testing_support::TempFolder folder;
  StudyState state;
  std::unique_ptr<Observer> retention = make();
};

TEST_F(CheckpointRetentionTest, KeepsTheLastCheckpointOfTheTenBest) {
  for (TrialId id = 0; id < 14; ++id)
    run(id, 4, static_cast<double>((id * 5) % 14), "COMPLETE", "");  // every loss once
  for (TrialId id = 0; id < 14; ++id)
    EXPECT_EQ(fs::exists(file(id, 4)), (id * 5) % 14 < 10) << "trial " << id;
  EXPECT_EQ(files(), 10);
}

TEST_F(CheckpointRetentionTest, KeepsTheNewestTrialsForThoseThatInheritFromThem) {
  retention = make_checkpoint_retention({folder.path(), "asha", 5});
  for (TrialId id = 0; id < 30; ++id) run(id, 4, static_cast<double>(id), "COMPLETE", "");
  for (TrialId id = 0; id < 30; ++id)
    EXPECT_EQ(fs::exists(file(id, 4)), id < 10 || id >= 25) << "trial " << id;
  retention = make_checkpoint_retention({folder.path(), "asha", 2});
  retention->began(state);
  EXPECT_EQ(files(), 12);
}

// A paused trial whose own checkpoint is gone would begin again.
TEST_F(CheckpointRetentionTest, RemovesAParentsWeightsOnceATrialCannotBeginAgain) {
  const auto inherited = [&](TrialId trial) {
    return folder.path() / std::to_string(trial) / "parent" / "epoch-2.a1.ckpt";
  };
  for (TrialId id = 0; id < 2; ++id) {
    begin(id);
    fs::create_directories(inherited(id).parent_path());
    std::ofstream(inherited(id)) << "x";
    train(id, 3, {{"loss", 1}});
  }
  EXPECT_TRUE(fs::exists(inherited(0)));
  end(0, "COMPLETE", "");
  end(1, "PRUNED", "asha");
  EXPECT_FALSE(fs::exists(inherited(0)));
  EXPECT_TRUE(fs::exists(inherited(1)));
}

TEST_F(CheckpointRetentionTest, OfEqualTrialsKeepsTheCompleteOnes) {
  for (TrialId id = 0; id < 11; ++id) run(id, 1, 0, "PRUNED", "median");
  run(11, 4, 0, "COMPLETE", "");
  EXPECT_FALSE(fs::exists(file(9, 1)));
  EXPECT_TRUE(fs::exists(file(11, 4)));
}

TEST_F(CheckpointRetentionTest, ATrialThatBreaksTheConstraintsTakesNoPlaceOfTheTenBest) {
  for (TrialId id = 0; id < 13; ++id) {
    begin(id);
    train(id, 4, {{"loss", 12.0 - static_cast<double>(id)}, {"constraint_violation", id > 9}});
    end(id, "COMPLETE", "");
  }
  for (TrialId id = 0; id < 13; ++id) EXPECT_EQ(fs::exists(file(id, 4)), id <= 9) << "trial " << id;
}

TEST_F(CheckpointRetentionTest, KeepsNothingOfAFailedTrial) {
  begin(0);
  train(0, 2, {{"loss", 0}});
  end(0, "FAIL", "");
  EXPECT_FALSE(fs::exists(folder.path() / "0"));
}

TEST_F(CheckpointRetentionTest, KeepsWhatTheBudgetCutAndWhatStillRuns) {
  for (TrialId id = 0; id < 12; ++id) run(id, 4, 0, "COMPLETE", "");
  run(12, 3, 1, "PRUNED", "budget");
  begin(13);
  train(13, 3, {{"loss", 9}});
  EXPECT_TRUE(fs::exists(file(12, 3)));
  EXPECT_TRUE(fs::exists(file(13, 2)));
  EXPECT_TRUE(fs::exists(file(13, 3)));
}

TEST_F(CheckpointRetentionTest, KeepsWhereATrialThatTheBudgetSuspendedResumes) {
  begin(0);
  fs::create_directories(folder.path() / "0");
  const fs::path position = folder.path() / "0" / "epoch-0-step-7.a1.ckpt";
  std::ofstream(position) << "x";
  happen(event::Told{.trial = 0,
                     .state = TrialState::kPruned,
                     .reason = {EndCause::kBudget},
                     .outcome = Measured{.values = {NAN}}});
  EXPECT_TRUE(fs::exists(position));
}

TEST_F(CheckpointRetentionTest, OfPausedTrialsKeepsTheNextInLineOfEachRung) {
  for (TrialId id = 0; id < 100; ++id)
    run(id, id % 2 == 0 ? 1 : 3, static_cast<double>(id), "PRUNED", "asha");
  for (TrialId id = 0; id < 100; ++id)
    EXPECT_EQ(fs::exists(file(id, id % 2 == 0 ? 1 : 3)), id < 64) << "trial " << id;
}

TEST_F(CheckpointRetentionTest, KeepsNoTrialThatWasStoppedForGood) {
  for (TrialId id = 0; id < 10; ++id) run(id, 4, 0, "COMPLETE", "");
  run(10, 1, 1, "PRUNED", "max_trial_duration");
  run(11, 1, std::nan(""), "PRUNED", "asha");
  EXPECT_FALSE(fs::exists(file(10, 1)));
  EXPECT_FALSE(fs::exists(file(11, 1)));
}

TEST_F(CheckpointRetentionTest, APromotedTrialLeavesItsPlaceAndKeepsItsFiles) {
  for (TrialId id = 0; id < 40; ++id)
    run(id, 1, static_cast<double>(id < 10 ? id : 100 - id), "PRUNED", "asha");
  happen(event::Requeued{.trial = 20, .reason = {RequeueCause::kPromoted}});
  happen(event::Started{.trial = 20, .attempt = 2, .worker = "w"});
  run(40, 1, 500, "PRUNED", "asha");  // takes the place of trial 20
  EXPECT_TRUE(fs::exists(file(20, 1)));
  EXPECT_TRUE(fs::exists(file(40, 1)));
  train(20, 3, {{"loss", 1000}});
  EXPECT_TRUE(fs::exists(file(20, 2)));
  end(20, "COMPLETE", "");
  EXPECT_FALSE(fs::exists(folder.path() / "20"));
}

class RetentionOfTwoObjectives : public CheckpointRetentionTest {
 protected:
  RetentionOfTwoObjectives() : CheckpointRetentionTest({minimize("loss"), maximize("accuracy")}) {}
  void run(TrialId trial, double loss, double accuracy) {
    begin(trial);
    train(trial, 1, {{"loss", loss}, {"accuracy", accuracy}});
    end(trial, "COMPLETE", "");
  }
};

TEST_F(RetentionOfTwoObjectives, KeepsTheWholeParetoSet) {
  for (TrialId id = 0; id < 50; ++id)
    run(id, static_cast<double>(id), static_cast<double>(id));  // none dominates another
  for (TrialId id = 0; id < 50; ++id) EXPECT_TRUE(fs::exists(file(id, 1))) << "trial " << id;
  run(50, 20, 40.5);  // dominates trials 20 to 40
  for (TrialId id = 0; id < 50; ++id)
    EXPECT_EQ(fs::exists(file(id, 1)), id < 20 || id > 40) << "trial " << id;
}

TEST_F(RetentionOfTwoObjectives, ATrialWithoutAnObjectiveOustsNobodyFromTheParetoSet) {
  for (TrialId id = 0; id < 12; ++id) run(id, static_cast<double>(id), static_cast<double>(id));
  run(12, -1, std::nan(""));
  for (TrialId id = 0; id < 12; ++id) EXPECT_TRUE(fs::exists(file(id, 1))) << "trial " << id;
}

TEST_F(RetentionOfTwoObjectives, OfEqualTrialsKeepsAFewInTheParetoSet) {
  for (TrialId id = 0; id < 50; ++id) run(id, 1, 1);
  EXPECT_EQ(files(), 10);
}

TEST_F(CheckpointRetentionTest, AfterAReplayKeepsTheSameAndRemovesWhatAKilledMasterLeft) {
  Rng rng(3);
  for (TrialId id = 0; id < 300; ++id)
    run(id, id % 3 == 0 ? 1 : 3, rng.uniform(), "PRUNED", rng.chance(0.9) ? "asha" : "target");
  const int before = files();
  EXPECT_LE(before, 10 + 2 * 32);
  fs::create_directories(file(299, 2).parent_path());
  std::ofstream(file(299, 2)) << "left behind";
  make()->began(state);
  EXPECT_EQ(files(), before);
}

TEST_F(CheckpointRetentionTest, RemovesNothingThatIsNoCheckpoint) {
  fs::create_directories(folder.path() / "0");
  std::ofstream(folder.path() / "0" / "train.log") << "x";
  begin(0);
  train(0, 2, {{"loss", 0}});
  end(0, "FAIL", "");
  make()->began(state);
  EXPECT_TRUE(fs::exists(folder.path() / "0" / "train.log"));
  EXPECT_EQ(files(), 1);
}

}  // namespace
}  // namespace detol
