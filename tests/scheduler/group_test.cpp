// Workers that are MPI jobs of two ranks.

#include <signal.h>
#include <stdlib.h>

#include <algorithm>

#include <gtest/gtest.h>

#include "core/file.h"
#include "tests/scheduler/process_support.h"
#include "tests/support/temp_folder.h"
#include "trainer/collectives/mpi_group.h"

namespace detol {
namespace {

using testing_support::TempFolder;
using testing_support::WholeRun;

class GroupProcess : public testing::Test {
 protected:
  GroupProcess() {
    ::setenv("DETOL_TEST_EPOCH_MS", "150", 1);
    ::unsetenv("DETOL_TEST_CRASH");
    run.options.group_size = 2;
  }

  void start_and_wait_for(int reports) {
    run.start();
    ASSERT_TRUE(WholeRun::wait_until([&] { return run.reports() >= reports; })) << log();
    ASSERT_TRUE(WholeRun::wait_until([&] { return run.workers().size() == 4; })) << log();
  }
  void expect_the_whole_study() {
    EXPECT_EQ(run.finish(), 0) << log();
    EXPECT_EQ(run.reports(), 40);
    int complete = 0;
    for (const Event& event : run.events()) {
      const auto* told = std::get_if<event::Told>(&event);
      complete += told != nullptr && told->state == TrialState::kComplete;
      if (const auto* started = std::get_if<event::Started>(&event)) {
        EXPECT_EQ(started->group_size, 2);
      }
    }
    EXPECT_EQ(complete, 8);
    expect_nobody_left();
  }
  void expect_nobody_left() {
    EXPECT_TRUE(WholeRun::wait_until([&] { return run.everybody().empty(); }));
  }
  std::string log() { return read_file(folder.path() / "log").value_or(""); }

  TempFolder folder;
  WholeRun run{folder.path()};
};

TEST_F(GroupProcess, TrainsAStudyToItsEnd) {
  start_and_wait_for(1);
  EXPECT_EQ(run.ranks(0).size(), 2u);
  EXPECT_EQ(run.ranks(1).size(), 2u);
  expect_the_whole_study();
}

enum class Victim { kLeader, kFollower, kLauncher };

class KilledInAGroup : public GroupProcess, public testing::WithParamInterface<Victim> {
 protected:
  std::vector<pid_t> candidates() const {
    if (GetParam() == Victim::kLauncher) return run.launchers();
    return run.ranks(GetParam() == Victim::kLeader ? 0 : 1);
  }
};

TEST_P(KilledInAGroup, EndsThatGroupAloneAndItsTrialGoesOn) {
  start_and_wait_for(3);
  const std::vector<pid_t> before = run.workers();
  const std::vector<pid_t> all = candidates();
  ASSERT_EQ(all.size(), 2u);
  ::kill(all.front(), SIGKILL);
  std::vector<pid_t> left;
  const bool is_replaced = WholeRun::wait_until([&] {
    left = run.workers();
    return left.size() == 4 && left != before;
  });
  EXPECT_TRUE(is_replaced) << log();
  const auto survives = [&](pid_t pid) { return std::ranges::find(left, pid) != left.end(); };
  EXPECT_EQ(std::ranges::count_if(before, survives), 2) << "one group of two lived on";
  expect_the_whole_study();
}

std::string name_of(const testing::TestParamInfo<Victim>& victim) {
  if (victim.param == Victim::kLauncher) return "Launcher";
  return victim.param == Victim::kLeader ? "Leader" : "Follower";
}

INSTANTIATE_TEST_SUITE_P(Victims, KilledInAGroup,
                         testing::Values(Victim::kLeader, Victim::kFollower, Victim::kLauncher),
                         name_of);

TEST_F(GroupProcess, OutlivesTheMaster) {
  start_and_wait_for(3);
  const std::vector<pid_t> before = run.workers();
  ::kill(run.masters().front(), SIGKILL);
  ASSERT_TRUE(WholeRun::wait_until([&] { return run.reports() >= 20; })) << log();
  EXPECT_EQ(run.workers(), before);
  expect_the_whole_study();
}

TEST_F(GroupProcess, EndsWithTheSupervisor) {
  start_and_wait_for(1);
  ::kill(run.supervisor(), SIGKILL);
  expect_nobody_left();
}

TEST_F(GroupProcess, StopsResumablyAlthoughARankIsStuck) {
  start_and_wait_for(1);
  ::kill(run.ranks(1).front(), SIGSTOP);
  ::kill(run.supervisor(), SIGTERM);
  EXPECT_EQ(run.finish(), 75) << log();
  expect_nobody_left();
  run.options.resume = true;
  run.options.budget.reset();
  run.start();
  expect_the_whole_study();
}

}  // namespace
}  // namespace detol
