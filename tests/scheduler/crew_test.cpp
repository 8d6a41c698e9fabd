// Workers that share GPUs.

#include "scheduler/processes/crew.h"

#include <sys/socket.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "scheduler/processes/orders.h"
#include "tests/scheduler/fake_study.h"
#include "tests/support/temp_folder.h"

namespace detol::testing_support {
namespace {

class CrewOnGpus : public testing::Test {
 protected:
  CrewOnGpus() {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) != 0) ADD_FAILURE();
    supervisor = ends[0];
    crews_end = ends[1];
  }
  void TearDown() override {
    ::close(supervisor);
    ::close(crews_end);
  }

  Crew crew_of(int workers, int gpus) {
    return Crew(
        {.workers = workers, .gpus = gpus, .supervisor = crews_end, .folder = folder.path()},
        clock);
  }
  void starts(Crew& crew, int number) {
    send_packet(supervisor, Notice{Notice::kLives, number, ++start, 0});
    crew.turn(events);
  }
  void becomes_ready(Crew& crew, int number) {
    starts(crew, number);
    std::string why;
    crew.welcome({.worker = number, .start = start, .ready = true}, events, why);
  }
  void ends(Crew& crew, int number, int status = 0) {
    send_packet(supervisor, Notice{Notice::kExited, number, start, status});
    crew.turn(events);
  }

  TempFolder folder;
  VirtualClock clock;
  std::vector<PoolEvent> events;
  int supervisor = -1, crews_end = -1, start = 0;
};

TEST_F(CrewOnGpus, AGpuThatWorkersShareIsHeldOnce) {
  Crew crew = crew_of(3, 2);  // 0 and 2 are on the first
  becomes_ready(crew, 0);
  clock.now += 10;
  becomes_ready(crew, 2);
  clock.now += 10;
  EXPECT_DOUBLE_EQ(crew.held_s(), 20);
  ends(crew, 0);
  clock.now += 10;
  EXPECT_DOUBLE_EQ(crew.held_s(), 30);
  becomes_ready(crew, 1);
  clock.now += 10;
  EXPECT_DOUBLE_EQ(crew.held_s(), 50);
  ends(crew, 1);
  ends(crew, 2);
  clock.now += 10;
  EXPECT_DOUBLE_EQ(crew.held_s(), 50);
}

TEST_F(CrewOnGpus, WhileOneGpuIsSoundALostOneEndsNothing) {
  Crew crew = crew_of(2, 2);
  becomes_ready(crew, 0);
  for (int times = 0; times < 5; ++times) {
    starts(crew, 1);
    ends(crew, 1, 2 << 8);
  }
  EXPECT_TRUE(events.empty());
  ends(crew, 0, 2 << 8);
  starts(crew, 1);
  ends(crew, 1, 2 << 8);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_TRUE(std::holds_alternative<Unusable>(events[0]));
}

}  // namespace
}  // namespace detol::testing_support
