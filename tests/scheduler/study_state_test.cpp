#include "scheduler/study_state.h"

#include <cmath>

#include <gtest/gtest.h>

namespace detol {
namespace {

// A state in which trials 0, 1, ... were asked for with these networks.
StudyState state_of(const std::vector<std::string>& arch_hashes) {
  StudyState state(Space(), {minimize("val_loss")});
  TrialId id = 0;
  for (const std::string& hash : arch_hashes) {
    event::Asked asked;
    asked.trial = id++;
    asked.arch_hash = hash;
    EXPECT_TRUE(state.apply(asked));
  }
  return state;
}

event::Told failed(TrialId trial, Cause cause) {
  return {.trial = trial,
          .state = TrialState::kFail,
          .reason = {EndCause::kFailure},
          .outcome = Failed{cause}};
}

TEST(StudyState, AnswersWithWhatAnEqualTrialWasTold) {
  StudyState state = state_of({"aa", "aa"});
  ASSERT_TRUE(state.apply(failed(0, Cause::kDiverged)));
  const TrialRecord* answer = state.answer_for(state.find(1)->identity);
  ASSERT_NE(answer, nullptr);
  EXPECT_EQ(answer->trial.id, 0u);
}

TEST(StudyState, FindsTheFirstEqualTrialThatIsNotOver) {
  StudyState state = state_of({"aa", "aa", "bb"});
  const std::string identity = state.find(0)->identity;
  EXPECT_EQ(state.first_open(identity)->trial.id, 0u);
  ASSERT_TRUE(state.apply(failed(0, Cause::kOutOfMemory)));
  EXPECT_EQ(state.first_open(identity)->trial.id, 1u);
  ASSERT_TRUE(state.apply(failed(1, Cause::kOutOfMemory)));
  EXPECT_EQ(state.first_open(identity), nullptr);
  ASSERT_TRUE(state.apply(event::Requeued{.trial = 0, .reason = {RequeueCause::kRetried}}));
  EXPECT_EQ(state.first_open(identity)->trial.id, 0u);
}

TEST(Identity, OfOneNetworkIsTheSameHoweverItsArchitectureIsWritten) {
  const auto identity = [](const std::string& hash, std::string op, double lr) {
    return identity_of(hash, std::vector<std::pair<std::string, Value>>{
                                 {"architecture.op", std::move(op)}, {"training.lr", lr}});
  };
  EXPECT_EQ(identity("aa", "conv", 0.1), identity("aa", "skip", 0.1));
  EXPECT_NE(identity("aa", "conv", 0.1), identity("bb", "conv", 0.1));
  EXPECT_NE(identity("aa", "conv", 0.1), identity("aa", "conv", 0.2));
  EXPECT_NE(identity("", "conv", 0.1), identity("", "skip", 0.1));  // a function has no network
}

TEST(StudyState, ACrashAnswersForNoOtherTrial) {
  StudyState state = state_of({"aa"});
  ASSERT_TRUE(state.apply(failed(0, Cause::kCrashed)));
  EXPECT_EQ(state.answer_for(state.find(0)->identity), nullptr);
}

TEST(StudyState, ARequeuedTrialAnswersForNoOther) {
  StudyState state = state_of({"aa"});
  ASSERT_TRUE(state.apply(failed(0, Cause::kOutOfMemory)));
  ASSERT_TRUE(state.apply(event::Requeued{.trial = 0, .reason = {RequeueCause::kRetried}}));
  EXPECT_EQ(state.answer_for(state.find(0)->identity), nullptr);
}

TEST(StudyState, ATrialWhoseValueIsNoNumberIsNeverTheBest) {
  StudyState state = state_of({"aa", "bb"});
  const auto report = [&](TrialId trial, double value) {
    ASSERT_TRUE(state.apply(event::Started{.trial = trial, .worker = {}}));
    event::Reported reported;
    reported.trial = trial;
    reported.epoch = 1;
    reported.metrics = {{"val_loss", value}};
    ASSERT_TRUE(state.apply(reported));
  };
  report(0, std::nan(""));
  EXPECT_EQ(state.best(), nullptr);
  report(1, 7);
  ASSERT_NE(state.best(), nullptr);
  EXPECT_EQ(state.best()->trial.id, 1u);
}

event::Reported reported_loss(TrialId trial, int epoch, double loss, bool is_best) {
  return {.trial = trial, .epoch = epoch, .metrics = {{"val_loss", loss}}, .is_best = is_best};
}

TEST(StudyState, ATrialsValuesAreOfItsBestReport) {
  StudyState state = state_of({"aa"});
  ASSERT_TRUE(state.apply(event::Started{.trial = 0, .worker = {}}));
  ASSERT_TRUE(state.apply(reported_loss(0, 1, 0.5, true)));
  ASSERT_TRUE(state.apply(reported_loss(0, 2, 0.7, false)));
  EXPECT_EQ(state.find(0)->values.front(), 0.5);
  EXPECT_EQ(state.find(0)->best_epoch, 1);
  EXPECT_EQ(state.find(0)->epochs, 2);
}

TEST(StudyState, OfEqualTrialsACompleteOneIsTheBest) {
  StudyState state = state_of({"aa", "bb"});
  for (TrialId trial = 0; trial < 2; ++trial) {
    ASSERT_TRUE(state.apply(event::Started{.trial = trial, .worker = {}}));
    ASSERT_TRUE(state.apply(reported_loss(trial, 1, 0.5, true)));
  }
  EXPECT_EQ(state.best()->trial.id, 0u);
  ASSERT_TRUE(state.apply(event::Told{.trial = 1, .outcome = Measured{.values = {0.5}}}));
  EXPECT_EQ(state.best()->trial.id, 1u);
}

TEST(StudyState, NamesATrialThatWasNeverAskedFor) {
  StudyState state = state_of({"aa"});
  const auto applied = state.apply(event::Started{.trial = 7, .worker = {}});
  ASSERT_FALSE(applied);
  EXPECT_EQ(applied.error().code, ErrorCode::kStorage);
  EXPECT_NE(applied.error().message.find("trial 7"), std::string::npos);
}

}  // namespace
}  // namespace detol
