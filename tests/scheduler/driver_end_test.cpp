// How a study ends in which trials fail.

#include <gtest/gtest.h>

#include "tests/scheduler/fake_study.h"

namespace detol {
namespace {

using testing_support::FakeStudy;
using testing_support::Mishap;

TEST(DriverEnd, AStudyOfWhichAllTrialsFailedSaysWhy) {
  FakeStudy study;
  study.budget = "3trials";
  study.pool.mishap = [](const message::Train&, int) { return Mishap::kDiverge; };
  const auto ended = study.run();
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code, ErrorCode::kFailures);
  const std::string why = to_text(study.trial(2).reason);
  EXPECT_EQ(
      ended.error().message.find("the budget is used up; 3 trials all failed, trial 2 as " + why),
      0u)
      << ended.error().message;
}

TEST(DriverEnd, AStudyWhoseOnlyTrialFailedIsNoSuccess) {
  FakeStudy study;
  study.budget = "1trials";
  study.pool.mishap = [](const message::Train&, int) { return Mishap::kDiverge; };
  const auto ended = study.run();
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code, ErrorCode::kFailures);
  EXPECT_NE(ended.error().message.find("the only trial, 0, failed"), std::string::npos);
}

// It may be resumed, and then goes by what comes of it.
TEST(DriverEnd, AStudyThatIsStoppedAfterFailuresIsInterrupted) {
  FakeStudy study;
  study.budget = "50trials";
  study.pool.mishap = [](const message::Train&, int) { return Mishap::kDiverge; };
  study.pool.stop_at = 3;
  const auto ended = study.run();
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code, ErrorCode::kInterrupted);
  EXPECT_EQ(study.trial(0).state, TrialState::kFail);
}

TEST(DriverEnd, ASpaceOfWhichAllIsRefusedSaysWhy) {
  FakeStudy study;
  study.config.space = SpaceBuilder().add_float("x", 0, 0.5, {.step = 0.5}).build().value();
  study.refuses = [](double) { return true; };
  const auto ended = study.run();
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code, ErrorCode::kFailures);
  EXPECT_NE(ended.error().message.find("2 trials all failed, trial 1 as "), std::string::npos)
      << ended.error().message;
}

TEST(DriverEnd, TenFailuresAtTheStartEndTheStudy) {
  FakeStudy study(2);
  study.budget = "100trials";
  study.pool.mishap = [](const message::Train&, int) { return Mishap::kDiverge; };
  const auto ended = study.run();
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code, ErrorCode::kFailures);
  EXPECT_LE(study.driver->state().trials().size(), 12u);
}

TEST(DriverEnd, FailuresDoNotEndAStudyInWhichATrialHasReported) {
  FakeStudy study(2);
  study.budget = "100trials";
  study.pool.mishap = [](const message::Train& train, int epoch) {
    if (train.trial == 0) return epoch > 1 ? Mishap::kHang : Mishap::kNone;
    return Mishap::kDiverge;
  };
  study.pool.stop_at = 30;
  const auto ended = study.run();
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().code, ErrorCode::kInterrupted);
  EXPECT_GT(study.driver->state().failed_after_start(), 10);
}

}  // namespace
}  // namespace detol
