#include "knowledge/states.h"

#include <gtest/gtest.h>

#include "knowledge/event_json.h"

namespace detol {
namespace {

EventRow told_row(const std::string& state, const std::string& failure, const std::string& reason,
                  const std::string& outcome) {
  return {.kind = "told",
          .trial = 0,
          .payload = R"({"state":")" + state + R"(","failure":")" + failure + R"(","reason":")" +
                     reason + R"(","at":1.0,"fidelity":0.0,"work":0.0,)" + outcome + "}"};
}
const std::string kMeasured = R"("values":{},"stopped_early":false)";
const std::string kTooLarge = R"("cause":"too_large")";

TEST(States, EveryReasonOfAnEndIsReadAsItWasWritten) {
  const EndReason pruned[] = {{EndCause::kPruner, "asha"}, {EndCause::kBudget},
                              {EndCause::kDuration},       {EndCause::kTarget},
                              {EndCause::kFailures},       {EndCause::kSameTrial, "", 17},
                              {EndCause::kRequest}};
  for (const EndReason& reason : pruned)
    EXPECT_EQ(end_reason_from(TrialState::kPruned, to_text(reason)), reason) << to_text(reason);
  const EndReason failed[] = {{EndCause::kFailure, "params 9 > 1"},
                              {EndCause::kSameTrial, "", 0},
                              {EndCause::kSameTrial, "other", 17}};
  for (const EndReason& reason : failed)
    EXPECT_EQ(end_reason_from(TrialState::kFail, to_text(reason)), reason) << to_text(reason);
  EXPECT_EQ(end_reason_from(TrialState::kComplete, ""), EndReason{});
}

TEST(States, EveryReasonToWaitAgainIsReadAsItWasWritten) {
  const RequeueReason reasons[] = {{RequeueCause::kLost, "signal 9"},
                                   {RequeueCause::kCrashed, "signal 11"},
                                   {RequeueCause::kOutOfMemory, "it"},
                                   {RequeueCause::kDisk, "it is full"},
                                   {RequeueCause::kStopped},
                                   {RequeueCause::kPromoted},
                                   {RequeueCause::kWorkerGone},
                                   {RequeueCause::kBudgetExtended},
                                   {RequeueCause::kRetried}};
  for (const RequeueReason& reason : reasons)
    EXPECT_EQ(requeue_reason_from(to_text(reason)), reason) << to_text(reason);
}

TEST(States, AWordThatDetolNeverWroteIsAnErrorThatNamesTheField) {
  const struct {
    EventRow row;
    std::string field;
  } cases[] = {
      {told_row("FAILED", "", "", kMeasured), "state"},
      {told_row("RUNNING", "", "", kMeasured), "reason"},
      {told_row("COMPLETE", "", "because", kMeasured), "reason"},
      {told_row("FAIL", "to_large", "", R"("cause":"to_large")"), "cause"},
      {told_row("FAIL", "crashed", "", kTooLarge), "failure"},
      {{.kind = "state", .payload = R"({"state":"PAUSED","budget":"","at":1.0})"}, "state"},
      {{.kind = "reported", .payload = R"({"metrics":{"a":"nan"},"work":0,"train_s":0})"},
       "metrics"},
  };
  for (const auto& [row, field] : cases) {
    const auto event = to_event(row);
    ASSERT_FALSE(event) << row.payload;
    EXPECT_EQ(event.error().code, ErrorCode::kStorage);
    EXPECT_NE(event.error().message.find("'" + field + "'"), std::string::npos)
        << event.error().message;
  }
  EXPECT_TRUE(to_event(told_row("FAIL", "too_large", "", kTooLarge)));
}

// The text must not change: old and new versions read the databases of each other.
TEST(States, WhatIsWrittenIsTheTextThatItAlwaysWas) {
  event::Asked asked;
  asked.trial = 3;
  asked.params = {{"lr", 0.5}, {"op", std::string("conv")}};
  asked.proposer = "gp";
  asked.arch_hash = "00ff";
  asked.network_params = 7;
  asked.flops = 9;
  const struct {
    Event event;
    std::string payload;
  } cases[] = {
      {asked, R"({"params":{"lr":0.5,"op":"conv"},"proposer":"gp","arch_hash":"00ff",)"
              R"("network_params":7,"flops":9,"at":0.0})"},
      {event::Started{.trial = 3, .attempt = 2, .worker = "w1", .at_s = 2},
       R"({"worker":"w1","at":2.0,"group_size":1,"micro_batches":1})"},
      {event::Told{3, TrialState::kComplete, {}, Measured{{0.5}, 2, 8, false}, 4},
       R"({"state":"COMPLETE","failure":"","reason":"","at":4.0,"values":{"acc":0.5},)"
       R"("fidelity":2.0,"work":8.0,"stopped_early":false})"},
      {event::Told{3,
                   TrialState::kFail,
                   {EndCause::kFailure, "no room"},
                   Failed{Cause::kOutOfMemory, 1, 2},
                   4},
       R"({"state":"FAIL","failure":"oom","reason":"no room","at":4.0,"cause":"oom",)"
       R"("fidelity":1.0,"work":2.0})"},
      {event::Requeued{3, 1, {RequeueCause::kCrashed, "signal 11"}},
       R"({"reason":"crashed: signal 11"})"},
      {event::StudyState{StudyPhase::kStopped, "1cpu-h", 9},
       R"({"state":"STOPPED","budget":"1cpu-h","at":9.0})"},
      {event::StudyState{StudyPhase::kRunning, "", 9, "cpu"},
       R"({"state":"RUNNING","budget":"","at":9.0,"backend":"cpu"})"},
  };
  const Objective objectives[] = {maximize("acc")};
  for (const auto& [event, payload] : cases) EXPECT_EQ(to_row(event, objectives).payload, payload);
}

TEST(States, AnEventOfAnUnknownKindIsAnError) {
  for (const char* kind : {"stated", "", "accounted"}) {
    const auto event =
        to_event({.kind = kind, .payload = R"({"state":"DONE","budget":"","at":1.0})"});
    EXPECT_FALSE(event) << kind;
  }
}

TEST(States, ObjectivesWithoutAKnownDirectionAreAnError) {
  EXPECT_FALSE(objectives_from(R"([{"metric":"loss","direction":"down"}])"));
}

}  // namespace
}  // namespace detol
