#include "core/suspension.h"

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "core/clock.h"
#include "core/shared_clock.h"
#include "tests/support/temp_folder.h"

namespace detol {
namespace {

double machine_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

char state_of(pid_t pid) {
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  std::string number, name, state;
  stat >> number >> name >> state;
  return state.empty() ? '-' : state.front();
}

struct Said {
  pid_t child = 0;
  double left_out_s = 0, left_out_by_the_other_s = 0;
};

double left_out_s(double machine_before_s, double before_s) {
  return machine_s() - machine_before_s - (system_clock().now_s() - before_s);
}

// A process with a child, which suspends itself with it. Two processes share the clock.
[[noreturn]] void play(const std::filesystem::path& file, int written) {
  ::setpgid(0, 0);
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTSTP);
  ::sigprocmask(SIG_BLOCK, &stop, nullptr);
  int ends[2];
  if (!share_clock(file) || ::pipe(ends) != 0) ::_exit(1);
  Said said;
  const double machine_before_s = machine_s(), before_s = system_clock().now_s();
  said.child = ::fork();
  if (said.child == 0) {
    char go = 0;
    if (!share_clock(file) || ::read(ends[0], &go, 1) != 1) ::_exit(1);
    said.left_out_by_the_other_s = left_out_s(machine_before_s, before_s);
    ::_exit(::write(written, &said, sizeof said) == sizeof said ? 0 : 1);
  }
  (void)!::write(written, &said, sizeof said);
  suspend_with(std::array{said.child});
  said.left_out_s = left_out_s(machine_before_s, before_s);
  (void)!::write(written, &said, sizeof said);
  ::_exit(::write(ends[1], "g", 1) == 1 && ::waitpid(said.child, nullptr, 0) > 0 ? 0 : 1);
}

TEST(Suspension, LeavesItsTimeOutOfTheClock) {
  const testing_support::TempFolder folder;
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t pid = ::fork();
  if (pid == 0) play(folder.path() / "clock", ends[1]);
  int status = 0;
  ASSERT_EQ(::waitpid(pid, &status, WUNTRACED), pid);
  if (!WIFSTOPPED(status)) GTEST_SKIP() << "no shell controls these processes";
  const double stopped_s = machine_s();
  Said said;
  ASSERT_EQ(::read(ends[0], &said, sizeof said), sizeof said);
  while (state_of(said.child) != 'T')
    ::sched_yield();  // it has not run since, but may be waited for
  ::usleep(100'000);
  const double least_s = machine_s() - stopped_s;
  ::kill(pid, SIGCONT);
  ASSERT_EQ(::read(ends[0], &said, sizeof said), sizeof said);
  EXPECT_GE(said.left_out_s, least_s);
  ASSERT_EQ(::read(ends[0], &said, sizeof said), sizeof said);
  EXPECT_GE(said.left_out_by_the_other_s, least_s);
  EXPECT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_EQ(status, 0);
}

TEST(Suspension, KnowsTheChildrenOfAProcess) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    for (;;) ::pause();
  }
  const std::vector<pid_t> children = children_of(::getpid());
  EXPECT_NE(std::find(children.begin(), children.end(), pid), children.end());
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  EXPECT_TRUE(children_of(pid).empty());
}

}  // namespace
}  // namespace detol
