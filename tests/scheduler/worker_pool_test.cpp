#include "scheduler/processes/worker_pool.h"

#include <signal.h>

#include <gtest/gtest.h>

#include "scheduler/processes/run_folder.h"
#include "tests/scheduler/pool_fixture.h"

namespace detol::testing_support {
namespace {

TEST_F(WorkerPoolTest, OrdersItsWorkersFromTheSupervisor) {
  pool->wait(1);
  EXPECT_TRUE(is_ordered(supervisor::Command::kStart));
}

TEST_F(WorkerPoolTest, AWorkerIsFreeOnceItIsReadyAndBusyUntilItsEndIsNoted) {
  start_worker();
  start_trial();
  EXPECT_TRUE(pool->free().empty());
  say(message::Ended{.worker = 0, .trial = 5, .attempt = 1, .evaluation = {}});
  EXPECT_FALSE(heard());
  ASSERT_EQ(events.size(), 1u);
  events.clear();
  EXPECT_TRUE(pool->free().empty());
  pool->acknowledge(message::EndAck{5, 1});
  EXPECT_EQ(pool->free().size(), 1u);
  EXPECT_TRUE(hears<message::EndAck>());
}

TEST_F(WorkerPoolTest, AVerdictThatStopsATrialFreesItsWorker) {
  start_worker();
  start_trial();
  pool->acknowledge(message::ReportAck{5, 1, 1, Verdict::kContinue});
  EXPECT_TRUE(pool->free().empty());
  pool->acknowledge(message::ReportAck{5, 1, 2, Verdict::kStop});
  EXPECT_EQ(pool->free().size(), 1u);
}

// Its program has a grace to end; who waits for that would wait for all of it.
TEST_F(WorkerPoolTest, AWorkerThatIsNotNeededEndsOnceItsStoppedTrialHasEnded) {
  start_worker();
  start_trial();
  pool->acknowledge(message::ReportAck{5, 1, 1, Verdict::kStop});
  pool->retire();
  EXPECT_FALSE(is_ordered(supervisor::Command::kKill));
  say(message::Ended{.worker = 0, .trial = 5, .attempt = 1, .evaluation = {}});
  while (events.empty() && heard()) continue;
  pool->retire();
  EXPECT_TRUE(is_ordered(supervisor::Command::kKill));
}

TEST_F(WorkerPoolTest, ARepeatedReportOfAStoppedTrialIsAnsweredAgainWithTheNextOrder) {
  start_worker();
  start_trial();
  pool->acknowledge(message::ReportAck{5, 1, 1, Verdict::kStop});
  ASSERT_TRUE(hears<message::ReportAck>());
  message::Train next;
  next.trial = 6;
  next.attempt = 1;
  pool->start(0, next);
  ASSERT_TRUE(hears<message::Train>());
  say(message::Report{
      .worker = 0, .trial = 5, .attempt = 1, .report = {.epoch = 1, .metrics = {}}});
  const auto answer = heard();
  ASSERT_TRUE(answer);
  EXPECT_EQ(std::get<message::ReportAck>(*answer).verdict, Verdict::kStop);
  const auto order = heard();
  ASSERT_TRUE(order);
  EXPECT_EQ(std::get<message::Train>(*order).trial, 6u);
  EXPECT_TRUE(events.empty());
}

TEST_F(WorkerPoolTest, NamesTheWorkerOfAnAttemptUnlessItTakesNoOtherTrial) {
  start_worker();
  start_trial();
  const auto slot = pool->slot_after(5, 1);
  ASSERT_TRUE(slot);
  EXPECT_EQ(slot->worker, 0);
  EXPECT_FALSE(pool->slot_after(5, 2));
  EXPECT_FALSE(pool->slot_after(6, 1));
  say(message::Heartbeat{.worker = 0, .trial = 5, .attempt = 1, .is_leaving = true});
  EXPECT_TRUE(hears<message::HeartbeatAck>());
  EXPECT_FALSE(pool->slot_after(5, 1));
}

TEST_F(WorkerPoolTest, ATrialForAWorkerThatHasGoneIsLostAtOnce) {
  message::Train train;
  train.trial = 5;
  train.attempt = 1;
  pool->start(9, train);
  const auto happened = pool->wait(0);
  ASSERT_EQ(happened.size(), 1u);
  EXPECT_EQ(std::get<Lost>(happened.front()).reason.cause, RequeueCause::kLost);
}

TEST_F(WorkerPoolTest, PassesOnThatATrialWhichAVerdictEndedIsGone) {
  start_worker();
  start_trial();
  pool->acknowledge(message::ReportAck{5, 1, 1, Verdict::kStop});
  ASSERT_TRUE(hears<message::ReportAck>());
  say(message::Ended{.worker = 0, .trial = 5, .attempt = 1, .evaluation = {}});
  while (events.empty() && heard()) continue;
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(std::get<message::Ended>(events[0]).trial, 5u);
}

TEST_F(WorkerPoolTest, WhatWasChosenReachesWorkersThatAreThereAndThatCome) {
  start_worker();
  say(message::Timed{.worker = 0, .choices = {{"conv", "direct", {}}}});
  EXPECT_FALSE(heard());
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(std::get<message::Timed>(events[0]).choices.at(0).algorithm, "direct");
  events.clear();
  pool->broadcast({{{"conv", "winograd"}}});
  const auto answer = heard();
  ASSERT_TRUE(answer);
  EXPECT_EQ(std::get<message::Chosen>(*answer).choices.algorithms.at("conv"), "winograd");
  worker.emplace(Socket::dealer(endpoint).value());
  send_packet(supervisor, supervisor::Event{supervisor::Event::kExited, 0, kStart, 0});
  send_packet(supervisor, supervisor::Event{supervisor::Event::kStarted, 0, kStart + 1, 0});
  say(message::Hello{.worker = 0, .start = kStart + 1});
  const auto setup = heard();
  ASSERT_TRUE(setup);
  EXPECT_EQ(std::get<message::Setup>(*setup).choices.algorithms.at("conv"), "winograd");
}

TEST_F(WorkerPoolTest, ARepeatedEndIsNotedAgainWithoutAnEvent) {
  start_worker();
  say(message::Ended{.worker = 0, .trial = 5, .attempt = 1, .evaluation = {}});
  EXPECT_TRUE(hears<message::EndAck>());
  EXPECT_TRUE(events.empty());
}

TEST_F(WorkerPoolTest, AnUnknownPeerIsAskedToIdentifyItself) {
  start_worker();
  Socket peer = Socket::dealer(endpoint).value();
  ASSERT_TRUE(
      peer.send(encode(message::Report{.worker = 0, .trial = 5, .attempt = 1, .report = {}})));
  std::optional<Packet> answer;
  for (int turn = 0; turn < kTurns && !answer; ++turn) {
    EXPECT_TRUE(pool->wait(1).empty());
    answer = peer.receive();
  }
  ASSERT_TRUE(answer);
  EXPECT_TRUE(std::holds_alternative<message::Identify>(decode(answer->bytes).value()));
}

TEST_F(WorkerPoolTest, AWorkerOfAnEarlierMasterClaimsItsTrial) {
  send_packet(supervisor, supervisor::Event{supervisor::Event::kStarted, 0, kStart, 0});
  worker.emplace(Socket::dealer(endpoint).value());
  say(message::Hello{.worker = 0, .start = kStart, .ready = true, .trial = 5, .attempt = 2});
  const auto claims = pool->claims();
  ASSERT_EQ(claims.size(), 1u);
  EXPECT_EQ(claims[0].trial, 5u);
  EXPECT_EQ(claims[0].attempt, 2);
  EXPECT_TRUE(pool->free().empty());
}

TEST_F(WorkerPoolTest, AnOrderThatGotLostIsGivenAgain) {
  start_worker();
  start_trial();
  clock.now += 6;
  say(message::Heartbeat{.worker = 0});
  EXPECT_TRUE(hears<message::Train>());
}

TEST_F(WorkerPoolTest, AHungWorkerIsEndedAndItsTrialCountsTheAttempt) {
  start_worker();
  start_trial();
  say(message::Heartbeat{.worker = 0, .trial = 5, .attempt = 1, .quiet_s = 59});
  EXPECT_TRUE(hears<message::HeartbeatAck>());
  EXPECT_FALSE(is_ordered(supervisor::Command::kKill));
  say(message::Heartbeat{.worker = 0, .trial = 5, .attempt = 1, .quiet_s = 61});
  EXPECT_TRUE(hears<message::HeartbeatAck>());
  EXPECT_TRUE(is_ordered(supervisor::Command::kKill));
  const auto lost = lost_after(SIGKILL);
  ASSERT_TRUE(lost);
  EXPECT_EQ(lost->reason.cause, RequeueCause::kCrashed);
  EXPECT_EQ(lost->reason.detail, "it hung: no step for 61 s");
}

TEST_F(WorkerPoolTest, ATrialOfSlowStepsHasMorePatience) {
  start_worker();
  start_trial();
  say(message::Heartbeat{.worker = 0, .trial = 5, .attempt = 1, .quiet_s = 150, .slowest_s = 10});
  EXPECT_TRUE(hears<message::HeartbeatAck>());
  EXPECT_FALSE(is_ordered(supervisor::Command::kKill));
}

TEST_F(WorkerPoolTest, ASilentWorkerIsEnded) {
  start_worker();
  start_trial();
  clock.now += 31;
  pool->wait(1);
  EXPECT_TRUE(is_ordered(supervisor::Command::kKill));
}

TEST_F(WorkerPoolTest, AWorkerWhoseReadinessGotLostIsAskedAgain) {
  send_packet(supervisor, supervisor::Event{supervisor::Event::kStarted, 0, kStart, 0});
  worker.emplace(Socket::dealer(endpoint).value());
  say(message::Hello{.worker = 0, .start = kStart});
  ASSERT_TRUE(hears<message::Setup>());
  say(message::Heartbeat{.worker = 0});
  EXPECT_TRUE(hears<message::Identify>());
}

TEST_F(WorkerPoolTest, AWorkerThatDoesNotBecomeReadyIsEnded) {
  send_packet(supervisor, supervisor::Event{supervisor::Event::kStarted, 0, kStart, 0});
  worker.emplace(Socket::dealer(endpoint).value());
  say(message::Hello{.worker = 0, .start = kStart});
  ASSERT_TRUE(hears<message::Setup>());
  for (int beat = 0; beat < 30; ++beat) {
    EXPECT_FALSE(is_ordered(supervisor::Command::kKill));
    clock.now += 20;
    say(message::Heartbeat{.worker = 0});
    ASSERT_TRUE(hears<message::HeartbeatAck>());
  }
  EXPECT_TRUE(is_ordered(supervisor::Command::kKill));
}

TEST_F(WorkerPoolTest, AKillFromOutsideDoesNotCountButACrashDoes) {
  start_worker();
  start_trial();
  EXPECT_EQ(lost_after(SIGKILL)->reason.cause, RequeueCause::kLost);
  start_worker(kStart + 1);
  start_trial();
  EXPECT_EQ(lost_after(SIGSEGV)->reason.cause, RequeueCause::kCrashed);
}

TEST_F(WorkerPoolTest, DeviceTimeRunsFromReadyToTheEnd) {
  start_worker();
  clock.now += 10;
  EXPECT_DOUBLE_EQ(pool->held_s(), 10);
  send_packet(supervisor, supervisor::Event{supervisor::Event::kExited, 0, kStart, 0});
  pool->wait(1);
  clock.now += 10;
  EXPECT_DOUBLE_EQ(pool->held_s(), 10);
}

TEST_F(WorkerPoolTest, AGroupHoldsADevicePerRank) {
  make_pool({.group_size = 3, .supervisor = pools_end});
  start_worker();
  clock.now += 10;
  EXPECT_DOUBLE_EQ(pool->held_s(), 30);
}

TEST_F(WorkerPoolTest, DeviceTimeGoesOnWhileADeadMasterIsReplaced) {
  struct Case {
    double ready_s, counted;
  };
  for (const auto& [ready_s, counted] : {Case{100, 7}, Case{3, 3}}) {
    clock.now = 1000;
    make_pool({.supervisor = pools_end, .counted_until_s = clock.now - 7});
    send_packet(supervisor, supervisor::Event{supervisor::Event::kStarted, 0, kStart, 0});
    worker.emplace(Socket::dealer(endpoint).value());
    say(message::Hello{.worker = 0, .start = kStart, .ready = true, .ready_s = ready_s});
    pool->claims();
    EXPECT_DOUBLE_EQ(pool->held_s(), counted);
  }
}

TEST_F(WorkerPoolTest, AStopShortensTheWaitForWorkersOfAnEarlierMaster) {
  send_packet(supervisor, supervisor::Event{supervisor::Event::kStarted, 0, kStart, 0});
  send_packet(supervisor, supervisor::Event{supervisor::Event::kStopRequested, 0, 0, 0});
  const double before_s = clock.now;
  EXPECT_TRUE(pool->claims().empty());
  EXPECT_EQ(clock.now, before_s);
  EXPECT_TRUE(is_ordered(supervisor::Command::kKill));
}

TEST_F(WorkerPoolTest, ASuspensionReachesAWorkerThatMissedIt) {
  start_worker();
  start_trial();
  pool->suspend();
  ASSERT_TRUE(hears<message::Suspend>());
  say(message::Heartbeat{.worker = 0, .trial = 5, .attempt = 1});
  EXPECT_TRUE(hears<message::Suspend>());
  worker.emplace(Socket::dealer(endpoint).value());  // a new connection
  say(message::Hello{.worker = 0, .start = kStart, .ready = true, .trial = 5, .attempt = 1});
  EXPECT_TRUE(hears<message::Suspend>());
}

TEST_F(WorkerPoolTest, AWorkerOfAnotherStartIsNotHeard) {
  send_packet(supervisor, supervisor::Event{supervisor::Event::kStarted, 0, kStart + 1, 0});
  worker.emplace(Socket::dealer(endpoint).value());
  say(message::Hello{.worker = 0, .start = kStart, .ready = true});
  for (int turn = 0; turn < kFewTurns; ++turn) pool->wait(1);
  EXPECT_TRUE(pool->free().empty());
}

TEST_F(WorkerPoolTest, WorkersKilledFromOutsideBeforeTheyAreReadyDoNotEndTheStudy) {
  for (int death = 0; death < 5; ++death) {
    send_packet(supervisor, supervisor::Event{supervisor::Event::kStarted, 0, kStart, 0});
    send_packet(supervisor, supervisor::Event{supervisor::Event::kExited, 0, kStart, SIGKILL});
    EXPECT_TRUE(pool->wait(1).empty());
  }
}

TEST_F(WorkerPoolTest, TheFirstErrorOfWorkersThatFailIsTheDiagnosis) {
  std::optional<Unusable> unusable;
  write_exit_reason(folder.path(), 0, "data/train: no such file");
  for (int death = 0; death < 3; ++death) {
    send_packet(supervisor, supervisor::Event{supervisor::Event::kStarted, 0, kStart, 0});
    send_packet(supervisor, supervisor::Event{supervisor::Event::kExited, 0, kStart, 3 << 8});
    for (const PoolEvent& event : pool->wait(1)) {
      if (const auto* u = std::get_if<Unusable>(&event)) unusable = *u;
    }
  }
  ASSERT_TRUE(unusable);
  EXPECT_NE(unusable->error.message.find("data/train: no such file"), std::string::npos);
}

TEST_F(WorkerPoolTest, WorkersThatNeverBecomeReadyEndTheStudy) {
  std::optional<Unusable> unusable;
  for (int death = 0; death < 3; ++death) {
    send_packet(supervisor, supervisor::Event{supervisor::Event::kStarted, 0, kStart, 0});
    send_packet(supervisor, supervisor::Event{supervisor::Event::kExited, 0, kStart, 3 << 8});
    for (const PoolEvent& event : pool->wait(1)) {
      if (const auto* u = std::get_if<Unusable>(&event)) unusable = *u;
    }
  }
  ASSERT_TRUE(unusable);
  EXPECT_EQ(unusable->error.code, ErrorCode::kInput);
}

TEST_F(WorkerPoolTest, ARetiredPoolEndsItsFreeWorkersAndStartsNone) {
  start_worker();
  pool->retire();
  EXPECT_TRUE(is_ordered(supervisor::Command::kKill));
  EXPECT_FALSE(lost_after(SIGKILL, kFewTurns));
  EXPECT_FALSE(is_ordered(supervisor::Command::kStart));
}

}  // namespace
}  // namespace detol::testing_support
