// Pools that do not start their workers.

#include <gtest/gtest.h>

#include "tests/scheduler/pool_fixture.h"

namespace detol::testing_support {
namespace {

// A pool that starts no worker: workers connect on their own and send the key of the run.
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
    for (int turn = 0; turn < kTurns && pool->free().empty(); ++turn) pool->wait(1);
    ASSERT_EQ(pool->free().size(), 1u);
  }
};

TEST_F(JoinedPoolTest, StartsNobodyAndTakesWhoeverHasTheKey) {
  join();
  EXPECT_EQ(pool->free().front().name, "mpi/0");
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
  std::optional<Lost> lost;
  for (const PoolEvent& event : pool->wait(1)) {
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
