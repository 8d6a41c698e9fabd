#pragma once

// A pool whose supervisor and worker 0 are the test itself.

#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "scheduler/processes/socket.h"
#include "scheduler/processes/supervisor_protocol.h"
#include "scheduler/processes/worker_pool.h"
#include "tests/scheduler/fake_study.h"
#include "tests/support/temp_folder.h"

namespace detol::testing_support {

inline constexpr int kStart = 7;
inline constexpr double kTurnS = 0.005;
inline constexpr int kTurns = 2000;   // more than any machine needs
inline constexpr int kFewTurns = 10;  // to see that nothing happens

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

  void make_pool(const WorkerRegistrySettings& registry) {
    pool.reset();
    pool = make_worker_pool({.endpoint = endpoint,
                             .registry = registry,
                             .setup = {"the config", "cpu", {}},
                             .turn_s = kTurnS},
                            clock)
               .value();
  }

  // Runs the pool until the worker receives a message or there is an event.
  std::optional<Message> heard() {
    for (int turn = 0; turn < kTurns && events.empty(); ++turn) {
      if (auto packet = worker->receive()) return decode(packet->bytes).value();
      for (PoolEvent& event : pool->wait(1)) events.push_back(std::move(event));
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
  bool is_ordered(supervisor::Command::Kind kind) {
    while (const auto command = next_command(supervisor)) {
      if (command->kind == kind && command->worker == 0) return true;
    }
    return false;
  }

  void start_worker(int start = kStart) {
    send_packet(supervisor, supervisor::Event{supervisor::Event::kStarted, 0, start, 0});
    worker.emplace(Socket::dealer(endpoint).value());
    say(message::Hello{.worker = 0, .start = start});
    ASSERT_TRUE(hears<message::Setup>());
    say(message::Hello{.worker = 0, .start = start, .ready = true});
    for (int turn = 0; turn < kTurns && pool->free().empty(); ++turn) pool->wait(1);
    ASSERT_EQ(pool->free().size(), 1u);
  }
  void start_trial() {
    message::Train train;
    train.trial = 5;
    train.attempt = 1;
    pool->start(0, train);
    ASSERT_TRUE(hears<message::Train>());
  }
  // Returns the Lost event that follows when the worker has ended with this status.
  std::optional<Lost> lost_after(int status, int turns = kTurns) {
    send_packet(supervisor, supervisor::Event{supervisor::Event::kExited, 0, kStart, status});
    for (int turn = 0; turn < turns; ++turn) {
      for (PoolEvent& event : pool->wait(1)) {
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

}  // namespace detol::testing_support
