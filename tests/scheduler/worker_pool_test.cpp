#include "scheduler/worker_pool.h"

#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <optional>

#include <gtest/gtest.h>

#include "scheduler/orders.h"
#include "scheduler/run_folder.h"
#include "scheduler/socket.h"
#include "tests/scheduler/fake_study.h"
#include "tests/support/temp_folder.h"

namespace detol {
namespace {

using testing_support::TempFolder;
using testing_support::VirtualClock;

constexpr int kStart = 7;
constexpr double kTurnS = 0.005;
constexpr int kTurns = 2000;   // more than any machine needs
constexpr int kFewTurns = 10;  // to see that nothing happens

// The pool with this test as its supervisor and as its worker 0.
class WorkerPoolTest : public testing::Test {
 protected:
  WorkerPoolTest() {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) != 0) ADD_FAILURE();
    supervisor = ends[0];
    pools_end = ends[1];
    endpoint = "ipc://" + (folder.path() / "s").string();
    make_pool({.supervisor = pools_end, .folder = folder.path()});
  }
  ~WorkerPoolTest() override {
    ::close(supervisor);
    ::close(pools_end);
  }

  void make_pool(const CrewSettings& crew) {
    pool.reset();
    pool = make_worker_pool({.endpoint = endpoint,
                             .crew = crew,
                             .welcome = {"the config", "onednn", {}},
                             .turn_s = kTurnS},
                            clock)
               .value();
  }

  // Lets the pool work until the worker hears something or there is an event.
  std::optional<Message> heard() {
    for (int turn = 0; turn < kTurns && events.empty(); ++turn) {
      if (auto packet = worker->receive()) return decode(packet->bytes).value();
      for (PoolEvent& event : pool->wait()) events.push_back(std::move(event));
    }
    return std::nullopt;
  }
  template <typename M>
  bool hears() {
    while (const auto message = heard()) {
      if (std::holds_alternative<M>(*message)) return true;
    }
    return false;
  }
  void say(const Message& message) { ASSERT_TRUE(worker->send(encode(message))); }
  bool is_ordered(Order::Kind kind) {
    while (const auto order = next_order(supervisor)) {
      if (order->kind == kind && order->worker == 0) return true;
    }
    return false;
  }

  void start_worker(int start = kStart) {
    send_packet(supervisor, Notice{Notice::kLives, 0, start, 0});
    worker.emplace(Socket::dealer(endpoint).value());
    say(message::Hello{.worker = 0, .start = start});
    ASSERT_TRUE(hears<message::Welcome>());
    say(message::Hello{.worker = 0, .start = start, .ready = true});
    for (int turn = 0; turn < kTurns && pool->free().empty(); ++turn) pool->wait();
    ASSERT_EQ(pool->free().size(), 1u);
  }
  void start_trial() {
    message::Train train;
    train.trial = 5;
    train.attempt = 1;
    pool->start(0, train);
    ASSERT_TRUE(hears<message::Train>());
  }
  // The Lost that follows when the worker has ended with this status.
  std::optional<Lost> lost_after(int status, int turns = kTurns) {
    send_packet(supervisor, Notice{Notice::kExited, 0, kStart, status});
    for (int turn = 0; turn < turns; ++turn) {
      for (PoolEvent& event : pool->wait()) {
        if (auto* lost = std::get_if<Lost>(&event)) return *lost;
      }
    }
    return std::nullopt;
  }

  TempFolder folder;
  VirtualClock clock;
  std::string endpoint;
  int supervisor = -1, pools_end = -1;
  std::unique_ptr<Pool> pool;
  std::optional<Socket> worker;
  std::vector<PoolEvent> events;
};

TEST_F(WorkerPoolTest, OrdersItsWorkersFromTheSupervisor) {
  pool->wait();
  EXPECT_TRUE(is_ordered(Order::kStart));
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
  pool->answer(message::Noted{5, 1});
  EXPECT_EQ(pool->free().size(), 1u);
  EXPECT_TRUE(hears<message::Noted>());
}

TEST_F(WorkerPoolTest, WhatWasChosenReachesWorkersThatAreThereAndThatCome) {
  start_worker();
  say(message::Timed{.worker = 0, .choices = {{"conv", "direct", {}}}});
  EXPECT_FALSE(heard());
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(std::get<message::Timed>(events[0]).choices.at(0).way, "direct");
  events.clear();
  pool->spread({{{"conv", "winograd"}}});
  const auto answer = heard();
  ASSERT_TRUE(answer);
  EXPECT_EQ(std::get<message::Chosen>(*answer).choices.ways.at("conv"), "winograd");
  worker.emplace(Socket::dealer(endpoint).value());
  send_packet(supervisor, Notice{Notice::kExited, 0, kStart, 0});
  send_packet(supervisor, Notice{Notice::kLives, 0, kStart + 1, 0});
  say(message::Hello{.worker = 0, .start = kStart + 1});
  const auto welcome = heard();
  ASSERT_TRUE(welcome);
  EXPECT_EQ(std::get<message::Welcome>(*welcome).choices.ways.at("conv"), "winograd");
}

TEST_F(WorkerPoolTest, ARepeatedEndIsNotedAgainWithoutAnEvent) {
  start_worker();
  say(message::Ended{.worker = 0, .trial = 5, .attempt = 1, .evaluation = {}});
  EXPECT_TRUE(hears<message::Noted>());
  EXPECT_TRUE(events.empty());
}

TEST_F(WorkerPoolTest, AStrangerIsAskedWhoItIs) {
  start_worker();
  Socket stranger = Socket::dealer(endpoint).value();
  ASSERT_TRUE(
      stranger.send(encode(message::Report{.worker = 0, .trial = 5, .attempt = 1, .report = {}})));
  std::optional<Packet> answer;
  for (int turn = 0; turn < kTurns && !answer; ++turn) {
    EXPECT_TRUE(pool->wait().empty());
    answer = stranger.receive();
  }
  ASSERT_TRUE(answer);
  EXPECT_TRUE(std::holds_alternative<message::Who>(decode(answer->bytes).value()));
}

TEST_F(WorkerPoolTest, AWorkerOfAnEarlierMasterClaimsItsTrial) {
  send_packet(supervisor, Notice{Notice::kLives, 0, kStart, 0});
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
  EXPECT_TRUE(hears<message::Beat>());
  EXPECT_FALSE(is_ordered(Order::kKill));
  say(message::Heartbeat{.worker = 0, .trial = 5, .attempt = 1, .quiet_s = 61});
  EXPECT_TRUE(hears<message::Beat>());
  EXPECT_TRUE(is_ordered(Order::kKill));
  const auto lost = lost_after(SIGKILL);
  ASSERT_TRUE(lost);
  EXPECT_TRUE(lost->counts);
  EXPECT_EQ(lost->reason, "it hung: no step for 61 s");
}

TEST_F(WorkerPoolTest, ATrialOfSlowStepsHasMorePatience) {
  start_worker();
  start_trial();
  say(message::Heartbeat{.worker = 0, .trial = 5, .attempt = 1, .quiet_s = 150, .slowest_s = 10});
  EXPECT_TRUE(hears<message::Beat>());
  EXPECT_FALSE(is_ordered(Order::kKill));
}

TEST_F(WorkerPoolTest, ASilentWorkerIsEnded) {
  start_worker();
  start_trial();
  clock.now += 31;
  pool->wait();
  EXPECT_TRUE(is_ordered(Order::kKill));
}

TEST_F(WorkerPoolTest, AWorkerWhoseReadinessGotLostIsAskedAgain) {
  send_packet(supervisor, Notice{Notice::kLives, 0, kStart, 0});
  worker.emplace(Socket::dealer(endpoint).value());
  say(message::Hello{.worker = 0, .start = kStart});
  ASSERT_TRUE(hears<message::Welcome>());
  say(message::Heartbeat{.worker = 0});
  EXPECT_TRUE(hears<message::Who>());
}

TEST_F(WorkerPoolTest, AWorkerThatDoesNotBecomeReadyIsEnded) {
  send_packet(supervisor, Notice{Notice::kLives, 0, kStart, 0});
  worker.emplace(Socket::dealer(endpoint).value());
  say(message::Hello{.worker = 0, .start = kStart});
  ASSERT_TRUE(hears<message::Welcome>());
  for (int beat = 0; beat < 30; ++beat) {
    EXPECT_FALSE(is_ordered(Order::kKill));
    clock.now += 20;
    say(message::Heartbeat{.worker = 0});
    ASSERT_TRUE(hears<message::Beat>());
  }
  EXPECT_TRUE(is_ordered(Order::kKill));
}

TEST_F(WorkerPoolTest, AKillFromOutsideDoesNotCountButACrashDoes) {
  start_worker();
  start_trial();
  EXPECT_FALSE(lost_after(SIGKILL)->counts);
  start_worker(kStart + 1);
  start_trial();
  EXPECT_TRUE(lost_after(SIGSEGV)->counts);
}

TEST_F(WorkerPoolTest, DeviceTimeRunsFromReadyToTheEnd) {
  start_worker();
  clock.now += 10;
  EXPECT_DOUBLE_EQ(pool->held_s(), 10);
  send_packet(supervisor, Notice{Notice::kExited, 0, kStart, 0});
  pool->wait();
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
    send_packet(supervisor, Notice{Notice::kLives, 0, kStart, 0});
    worker.emplace(Socket::dealer(endpoint).value());
    say(message::Hello{.worker = 0, .start = kStart, .ready = true, .ready_s = ready_s});
    pool->claims();
    EXPECT_DOUBLE_EQ(pool->held_s(), counted);
  }
}

TEST_F(WorkerPoolTest, AStopShortensTheWaitForWorkersOfAnEarlierMaster) {
  send_packet(supervisor, Notice{Notice::kLives, 0, kStart, 0});
  send_packet(supervisor, Notice{Notice::kStop, 0, 0, 0});
  const double before_s = clock.now;
  EXPECT_TRUE(pool->claims().empty());
  EXPECT_EQ(clock.now, before_s);
  EXPECT_TRUE(is_ordered(Order::kKill));
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
  send_packet(supervisor, Notice{Notice::kLives, 0, kStart + 1, 0});
  worker.emplace(Socket::dealer(endpoint).value());
  say(message::Hello{.worker = 0, .start = kStart, .ready = true});
  for (int turn = 0; turn < kFewTurns; ++turn) pool->wait();
  EXPECT_TRUE(pool->free().empty());
}

TEST_F(WorkerPoolTest, WorkersKilledFromOutsideBeforeTheyAreReadyDoNotEndTheStudy) {
  for (int death = 0; death < 5; ++death) {
    send_packet(supervisor, Notice{Notice::kLives, 0, kStart, 0});
    send_packet(supervisor, Notice{Notice::kExited, 0, kStart, SIGKILL});
    EXPECT_TRUE(pool->wait().empty());
  }
}

TEST_F(WorkerPoolTest, TheFirstErrorOfWorkersThatFailIsTheDiagnosis) {
  std::optional<Unusable> unusable;
  leave_last_word(folder.path(), 0, "data/train: no such file");
  for (int death = 0; death < 3; ++death) {
    send_packet(supervisor, Notice{Notice::kLives, 0, kStart, 0});
    send_packet(supervisor, Notice{Notice::kExited, 0, kStart, 3 << 8});
    for (const PoolEvent& event : pool->wait()) {
      if (const auto* u = std::get_if<Unusable>(&event)) unusable = *u;
    }
  }
  ASSERT_TRUE(unusable);
  EXPECT_NE(unusable->error.message.find("data/train: no such file"), std::string::npos);
}

TEST_F(WorkerPoolTest, WorkersThatNeverBecomeReadyEndTheStudy) {
  std::optional<Unusable> unusable;
  for (int death = 0; death < 3; ++death) {
    send_packet(supervisor, Notice{Notice::kLives, 0, kStart, 0});
    send_packet(supervisor, Notice{Notice::kExited, 0, kStart, 3 << 8});
    for (const PoolEvent& event : pool->wait()) {
      if (const auto* u = std::get_if<Unusable>(&event)) unusable = *u;
    }
  }
  ASSERT_TRUE(unusable);
  EXPECT_EQ(unusable->error.code, ErrorCode::kInput);
}

TEST_F(WorkerPoolTest, ARetiredPoolEndsItsFreeWorkersAndStartsNone) {
  start_worker();
  pool->retire();
  EXPECT_TRUE(is_ordered(Order::kKill));
  EXPECT_FALSE(lost_after(SIGKILL, kFewTurns));
  EXPECT_FALSE(is_ordered(Order::kStart));
}

// A pool that starts nobody: workers come by themselves and show the key of the run.
class JoinedPoolTest : public WorkerPoolTest {
 protected:
  static constexpr int kOwn = 4711;  // the worker's choice of a start number

  JoinedPoolTest() { make_pool({.supervisor = pools_end, .key = "key"}); }

  message::Hello hello(std::string key = "key") {
    return {.worker = 0, .start = kOwn, .key = std::move(key), .ready = true};
  }
  void join() {
    worker.emplace(Socket::dealer(endpoint).value());
    say(hello());
    for (int turn = 0; turn < kTurns && pool->free().empty(); ++turn) pool->wait();
    ASSERT_EQ(pool->free().size(), 1u);
  }
};

TEST_F(JoinedPoolTest, StartsNobodyAndTakesWhoeverHasTheKey) {
  join();
  EXPECT_EQ(pool->free().front().name, "mpi/0");
  EXPECT_FALSE(is_ordered(Order::kStart));
}

TEST_F(JoinedPoolTest, LetsNobodyInWithoutTheKey) {
  worker.emplace(Socket::dealer(endpoint).value());
  say(hello("another"));
  for (int turn = 0; turn < kFewTurns; ++turn) pool->wait();
  EXPECT_TRUE(pool->free().empty());
}

TEST_F(JoinedPoolTest, ASilentWorkerIsLostAndMayComeBack) {
  join();
  start_trial();
  clock.now += 31;
  std::optional<Lost> lost;
  for (const PoolEvent& event : pool->wait()) {
    if (const auto* l = std::get_if<Lost>(&event)) lost = *l;
  }
  ASSERT_TRUE(lost);
  EXPECT_EQ(lost->trial, 5u);
  EXPECT_TRUE(pool->free().empty());
  join();
}

TEST_F(JoinedPoolTest, ADroppedTrialIsSuspendedBecauseNobodyReplacesItsWorker) {
  join();
  start_trial();
  pool->drop(5);
  EXPECT_TRUE(hears<message::Suspend>());
  EXPECT_TRUE(pool->free().empty());
}

TEST_F(JoinedPoolTest, ARetiredPoolSendsItsWorkersAway) {
  join();
  pool->retire();
  EXPECT_TRUE(hears<message::Leave>());
}

TEST_F(JoinedPoolTest, WhoStillTrainsAtTheEndIsSentAwayToo) {
  join();
  start_trial();
  pool.reset();
  std::optional<Packet> packet;
  for (int turn = 0; turn < kTurns && !packet; ++turn) {
    worker->wait(-1, kTurnS);
    packet = worker->receive();
  }
  ASSERT_TRUE(packet);
  EXPECT_TRUE(std::holds_alternative<message::Leave>(decode(packet->bytes).value()));
}

}  // namespace
}  // namespace detol
