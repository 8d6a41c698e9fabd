// Pools that do not start their workers.

#include <csignal>
#include <utility>

#include <gtest/gtest.h>

#include "tests/scheduler/pool_fixture.h"

namespace detol::testing_support {
namespace {

// A pool that starts no worker: workers connect on their own and send the key of the run.
class JoinedPoolTest : public WorkerPoolTest {
 protected:
  static constexpr int kOwn = 4711;  // the worker's choice of a start number

  JoinedPoolTest() { make_pool(settings); }

  message::Hello hello(std::string key = "key") {
    return {.start = kOwn, .key = std::move(key), .id = "id", .name = "node7/1", .ready = true};
  }
  void join() {
    worker.emplace(Socket::dealer(endpoint).value());
    say(hello());
    for (int turn = 0; turn < kTurns && pool->free().empty(); ++turn) pool->wait(1);
    ASSERT_EQ(pool->free().size(), 1u);
  }
  // Trains trial 5.
  void start_trial() {
    message::Train train;
    train.trial = 5;
    train.attempt = 1;
    pool->start(pool->free().front().worker, train);
    ASSERT_TRUE(hears<message::Train>());
  }
  std::optional<Lost> lost() {
    for (int turn = 0; turn < kTurns; ++turn) {
      for (const PoolEvent& event : pool->wait(1))
        if (const auto* l = std::get_if<Lost>(&event)) return *l;
    }
    return std::nullopt;
  }

  const WorkerRegistrySettings settings{
      .workers = 0, .supervisor = pools_end, .key = "key", .folder = folder.path()};
};

TEST_F(JoinedPoolTest, StartsNobodyAndTakesWhoeverHasTheKey) {
  join();
  EXPECT_EQ(pool->free().front().name, "node7/1");
  EXPECT_FALSE(is_ordered(supervisor::Command::kStart));
}

TEST_F(JoinedPoolTest, LetsNobodyInWithoutTheKey) {
  worker.emplace(Socket::dealer(endpoint).value());
  say(hello("another"));
  for (int turn = 0; turn < kFewTurns; ++turn) pool->wait(1);
  EXPECT_TRUE(pool->free().empty());
}

TEST_F(JoinedPoolTest, ASilentWorkerIsLostAndMayComeBack) {
  join();
  start_trial();
  clock.now += 31;
  const std::optional<Lost> silent = lost();
  ASSERT_TRUE(silent);
  EXPECT_EQ(silent->trial, 5u);
  EXPECT_EQ(silent->reason.cause, RequeueCause::kLost) << "its machine may be cut off";
  EXPECT_TRUE(pool->free().empty());
  join();
}

TEST_F(JoinedPoolTest, AHungWorkerBlamesItsTrial) {
  join();
  start_trial();
  say(message::Heartbeat{.trial = 5, .attempt = 1, .quiet_s = 61});
  const std::optional<Lost> hung = lost();
  ASSERT_TRUE(hung);
  EXPECT_EQ(hung->reason.cause, RequeueCause::kCrashed);
}

TEST_F(JoinedPoolTest, ANewProcessOfAWorkerSaysHowTheOneBeforeItEnded) {
  for (const auto& [status, cause] :
       {std::pair{SIGSEGV, RequeueCause::kCrashed}, std::pair{SIGKILL, RequeueCause::kLost}}) {
    make_pool(settings);
    join();
    start_trial();
    worker.emplace(Socket::dealer(endpoint).value());
    message::Hello next = hello();
    next.start = kOwn + 1;
    next.previous_status = status;
    say(next);
    const std::optional<Lost> before = lost();
    ASSERT_TRUE(before);
    EXPECT_EQ(before->reason.cause, cause) << status;
    EXPECT_EQ(pool->free().size(), 1u);
  }
}

TEST_F(JoinedPoolTest, AWorkerThatLeavesGetsNoOtherTrialAndIsSentAwayAfterItsOwn) {
  join();
  start_trial();
  say(message::Heartbeat{.trial = 5, .attempt = 1, .is_leaving = true});
  say(message::Ended{.trial = 5, .attempt = 1, .evaluation = {Evaluation::End::kSuspended}});
  std::optional<message::Ended> ended;
  for (int turn = 0; turn < kTurns && !ended; ++turn) {
    for (const PoolEvent& event : pool->wait(1))
      if (const auto* e = std::get_if<message::Ended>(&event)) ended = *e;
  }
  ASSERT_TRUE(ended);
  pool->acknowledge(message::EndAck{5, 1});
  EXPECT_TRUE(pool->free().empty());
  say(message::Heartbeat{.is_leaving = true});
  EXPECT_TRUE(hears<message::Shutdown>());
  EXPECT_TRUE(events.empty()) << "its trial is not lost";
}

TEST_F(JoinedPoolTest, AGroupOfAnotherSizeIsNotLetIn) {
  worker.emplace(Socket::dealer(endpoint).value());
  message::Hello pair = hello();
  pair.ranks = 2;
  say(pair);
  for (int turn = 0; turn < kFewTurns; ++turn) pool->wait(1);
  EXPECT_TRUE(pool->free().empty());
}

TEST_F(JoinedPoolTest, DeviceTimeCountsFromReadyToTheEnd) {
  join();
  clock.now += 10;
  EXPECT_DOUBLE_EQ(pool->held_s(), 10);
  EXPECT_EQ(pool->devices(), 1);
  say(message::Heartbeat{.is_leaving = true});
  ASSERT_TRUE(hears<message::Shutdown>());
  clock.now += 10;
  EXPECT_DOUBLE_EQ(pool->held_s(), 10);
  EXPECT_EQ(pool->devices(), 0);
}

// A restarted master waits for those that it knows of, and for no one else.
TEST_F(JoinedPoolTest, TheNextMasterClaimsWhatItsWorkersTrain) {
  join();
  start_trial();
  pool.reset();
  pool = make_worker_pool({.endpoint = endpoint,
                           .registry = settings,
                           .setup = {"the config", "cpu", {}},
                           .is_restart = true,
                           .turn_s = kTurnS},
                          clock)
             .value();
  worker.emplace(Socket::dealer(endpoint).value());
  message::Hello again = hello();
  again.trial = 5;
  again.attempt = 1;
  say(again);
  const std::vector<Claim> claims = pool->claims();
  ASSERT_EQ(claims.size(), 1u);
  EXPECT_EQ(claims.front().trial, 5u);
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
  EXPECT_TRUE(hears<message::Shutdown>());
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
  EXPECT_TRUE(std::holds_alternative<message::Shutdown>(decode(packet->bytes).value()));
}

}  // namespace
}  // namespace detol::testing_support
