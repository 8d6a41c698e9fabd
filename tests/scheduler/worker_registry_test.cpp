// Workers that share GPUs, and workers on other machines.

#include "scheduler/processes/worker_registry.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <fstream>
#include <tuple>

#include <gtest/gtest.h>

#include "scheduler/processes/oom.h"
#include "scheduler/processes/supervisor_protocol.h"
#include "tests/scheduler/fake_study.h"
#include "tests/support/temp_folder.h"

namespace detol::testing_support {
namespace {

class WorkerRegistryTest : public testing::Test {
 protected:
  WorkerRegistryTest() {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) != 0) ADD_FAILURE();
    supervisor = ends[0];
    registrys_end = ends[1];
  }
  void TearDown() override {
    ::close(supervisor);
    ::close(registrys_end);
  }

  void starts(WorkerRegistry& registry, int number) {
    send_packet(supervisor, supervisor::Event{supervisor::Event::kStarted, number, ++start, 0});
    registry.turn(events);
  }
  void becomes_ready(WorkerRegistry& registry, int number) {
    starts(registry, number);
    std::string why;
    registry.register_worker({.worker = number, .start = start, .ready = true}, events, why);
  }
  void ends(WorkerRegistry& registry, int number, int status = 0) {
    send_packet(supervisor, supervisor::Event{supervisor::Event::kExited, number, start, status});
    registry.turn(events);
  }

  TempFolder folder;
  VirtualClock clock;
  std::vector<PoolEvent> events;
  int supervisor = -1, registrys_end = -1, start = 0;
};

class WorkerRegistryOnGpus : public WorkerRegistryTest {
 protected:
  WorkerRegistry registry_of(int workers, int gpus) {
    return WorkerRegistry(
        {.workers = workers, .gpus = gpus, .supervisor = registrys_end, .folder = folder.path()},
        clock);
  }
};

TEST_F(WorkerRegistryOnGpus, AGpuThatWorkersShareIsHeldOnce) {
  WorkerRegistry registry = registry_of(3, 2);  // workers 0 and 2 share the first GPU
  becomes_ready(registry, 0);
  clock.now += 10;
  becomes_ready(registry, 2);
  clock.now += 10;
  EXPECT_DOUBLE_EQ(registry.held_s(), 20);
  ends(registry, 0);
  clock.now += 10;
  EXPECT_DOUBLE_EQ(registry.held_s(), 30);
  becomes_ready(registry, 1);
  clock.now += 10;
  EXPECT_DOUBLE_EQ(registry.held_s(), 50);
  ends(registry, 1);
  ends(registry, 2);
  clock.now += 10;
  EXPECT_DOUBLE_EQ(registry.held_s(), 50);
}

TEST_F(WorkerRegistryOnGpus, WhileOneGpuIsSoundALostOneEndsNothing) {
  WorkerRegistry registry = registry_of(2, 2);
  becomes_ready(registry, 0);
  for (int times = 0; times < 5; ++times) {
    starts(registry, 1);
    ends(registry, 1, 2 << 8);
  }
  EXPECT_TRUE(events.empty());
  ends(registry, 0, 2 << 8);
  starts(registry, 1);
  ends(registry, 1, 2 << 8);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_TRUE(std::holds_alternative<Unusable>(events[0]));
}

class WorkerRegistryOfMachines : public WorkerRegistryTest {
 protected:
  static constexpr int kNoConnection = 255 << 8;  // of ssh

  WorkerRegistry registry{
      {.workers = 2, .is_remote = true, .supervisor = registrys_end, .folder = folder.path()},
      clock};
};

// What a machine could train, one that has less refuses only while no other has been there.
TEST_F(WorkerRegistryOfMachines, TheLargestMemorySoFarCounts) {
  EXPECT_TRUE(std::isinf(registry.most_memory()));
  std::string why;
  starts(registry, 0);
  registry.register_worker({.worker = 0, .start = start, .memory = 8e9, .ready = true}, events,
                           why);
  EXPECT_EQ(registry.most_memory(), 8e9);
  ends(registry, 0);
  EXPECT_EQ(registry.most_memory(), 8e9);
  becomes_ready(registry, 1);  // that does not know its memory
  EXPECT_TRUE(std::isinf(registry.most_memory()));
}

TEST_F(WorkerRegistryTest, AGroupThatJoinsHasAPossibleSize) {
  WorkerRegistry registry({.workers = 0,
                           .takes_other_sizes = true,
                           .supervisor = registrys_end,
                           .folder = folder.path()},
                          clock);
  const auto is_taken = [&](const char* id, int ranks) {
    std::string why;
    return registry.register_worker({.start = 1, .id = id, .ranks = ranks}, events, why) != nullptr;
  };
  EXPECT_TRUE(is_taken("a", 3));
  EXPECT_FALSE(is_taken("b", 0));
  EXPECT_FALSE(is_taken("c", 1'000'000'000));
}

TEST_F(WorkerRegistryOfMachines, WhatAMachineTrainedIsNotToBlameForItsFailure) {
  becomes_ready(registry, 0);
  registry.workers().at(0).train.trial = 5;
  registry.workers().at(0).train.attempt = 1;
  ends(registry, 0, kNoConnection);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(std::get<Lost>(events[0]).reason.cause, RequeueCause::kLost);
}

TEST_F(WorkerRegistryOnGpus, SaysWhetherSomebodyElsesSigkillEndedAWorker) {
  WorkerRegistry registry = registry_of(1, 0);
  for (const auto& [status, why, expected] :
       {std::tuple{SIGKILL, "", true}, {SIGKILL, "it hung", false}, {SIGSEGV, "", false}}) {
    becomes_ready(registry, 0);
    Worker& worker = registry.workers().at(0);
    worker.train.trial = 5;
    worker.train.attempt = 1;
    if (*why != '\0') registry.end(0, why, events);
    events.clear();
    ends(registry, 0, status);
    ASSERT_EQ(events.size(), 1u);
    EXPECT_EQ(std::get<Lost>(events[0]).by_sigkill, expected) << status << why;
  }
}

TEST(OomKills, AreCountedUnderBothVersionsOfControlGroups) {
  const TempFolder root;
  const auto write = [&](const std::string& path, const std::string& text) {
    std::filesystem::create_directories((root.path() / path).parent_path());
    std::ofstream(root.path() / path) << text;
  };
  EXPECT_EQ(oom_kills(root.path()), 0);
  write("proc/self/mountinfo",
        "31 1 0:31 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
        "32 1 0:32 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
  write("proc/self/cgroup", "4:memory:/job\n0::/job\n");
  write("sys/fs/cgroup/memory/memory.oom_control", "oom_kill 100\n");  // of other groups
  write("sys/fs/cgroup/memory/job/memory.oom_control",
        "oom_kill_disable 0\nunder_oom 0\noom_kill 8\n");
  EXPECT_EQ(oom_kills(root.path()), 8);
  write("sys/fs/cgroup/unified/job/memory.events", "low 0\nhigh 0\nmax 9\noom 3\noom_kill 2\n");
  EXPECT_EQ(oom_kills(root.path()), 10);
}

TEST_F(WorkerRegistryOfMachines, ThatWorkedBeforeMayBeAwayForLong) {
  becomes_ready(registry, 0);
  for (int times = 0; times < 20; ++times) {
    ends(registry, 0, kNoConnection);
    starts(registry, 0);
  }
  EXPECT_TRUE(events.empty());
}

TEST_F(WorkerRegistryOfMachines, AreTriedAgainAfterSixSecondsHoweverOftenTheyFailed) {
  const auto is_started = [this] {
    bool is_it = false;
    while (const auto command = next_command(supervisor))
      is_it = is_it || (command->kind == supervisor::Command::kStart && command->worker == 0);
    return is_it;
  };
  becomes_ready(registry, 0);
  for (int times = 0; times < 12; ++times) {
    ends(registry, 0, kNoConnection);
    starts(registry, 0);
  }
  ends(registry, 0, kNoConnection);
  is_started();
  clock.now += 6.3;
  registry.turn(events);
  EXPECT_FALSE(is_started());
  clock.now += 0.2;
  registry.turn(events);
  EXPECT_TRUE(is_started());
}

TEST_F(WorkerRegistryOfMachines, ThatNeverStartEndTheSearch) {
  for (int times = 0; times < 6; ++times) {
    EXPECT_TRUE(events.empty());
    starts(registry, times % 2);
    ends(registry, times % 2, kNoConnection);
  }
  ASSERT_EQ(events.size(), 1u);
  EXPECT_TRUE(std::holds_alternative<Unusable>(events[0]));
}

}  // namespace
}  // namespace detol::testing_support
