#include "scheduler/processes/process_tree.h"

#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace detol {
namespace {

// A pipe that reads end-of-file once every process that held its write end is gone.
class Pipe {
 public:
  Pipe() { EXPECT_EQ(::pipe(ends_), 0); }
  ~Pipe() {
    ::close(ends_[0]);
    close_write_end();
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  void put() const { EXPECT_EQ(::write(ends_[1], "x", 1), 1); }
  bool get() const {  // false: end of file
    char byte = 0;
    return ::read(ends_[0], &byte, 1) == 1;
  }
  void close_write_end() { ::close(std::exchange(ends_[1], -1)); }

 private:
  int ends_[2] = {-1, -1};
};

int status_of(pid_t pid) {
  int status = 0;
  EXPECT_EQ(::waitpid(pid, &status, 0), pid);
  return status;
}

// Returns the state letter of /proc/<pid>/stat; 'T' is stopped.
char state_of(pid_t pid) {
  std::string stat;
  std::getline(std::ifstream("/proc/" + std::to_string(pid) + "/stat"), stat);
  const std::size_t name_end = stat.rfind(") ");
  return name_end == std::string::npos ? '?' : stat[name_end + 2];
}

[[noreturn]] void stay() {
  for (;;) ::pause();
}

// Leaves an orphan with a session of its own, which writes a byte into `life`.
void leave_a_daemon(const Pipe& life) {
  const pid_t child = ::fork();
  if (child > 0) {
    ::waitpid(child, nullptr, 0);
    return;
  }
  ::setsid();
  if (::fork() > 0) ::_exit(0);
  life.put();
  stay();
}

class ProcessTree : public testing::Test {
 protected:
  // A tree whose first process leaves a daemon, and then ends when it is told to.
  pid_t start_with_daemon() {
    return start_tree([this] {
      go_.close_write_end();
      leave_a_daemon(life_);
      ::_exit(go_.get() ? 0 : 1);
    });
  }
  void await_daemon() {
    life_.close_write_end();
    ASSERT_TRUE(life_.get());
  }
  void expect_nobody_left() const { EXPECT_FALSE(life_.get()); }

  Pipe life_, go_;
};

TEST_F(ProcessTree, EndsAsItsFirstProcessDid) {
  const pid_t exits = start_tree([] { ::_exit(7); });
  EXPECT_EQ(WEXITSTATUS(status_of(exits)), 7);
  for (const int signal : {SIGKILL, SIGTERM}) {
    const pid_t killed = start_tree([signal] {
      sigset_t none;
      sigemptyset(&none);
      ::sigprocmask(SIG_SETMASK, &none, nullptr);
      ::kill(::getpid(), signal);
    });
    const int status = status_of(killed);
    EXPECT_TRUE(WIFSIGNALED(status));
    EXPECT_EQ(WTERMSIG(status), signal);
  }
  const pid_t has_no_program = start_tree([] {});
  EXPECT_EQ(WEXITSTATUS(status_of(has_no_program)), 127);
}

TEST_F(ProcessTree, SaysHowItEndedAlsoWhereSigchldWasIgnored) {
  ::signal(SIGCHLD, SIG_IGN);
  const pid_t exits = start_tree([] { ::_exit(7); });
  EXPECT_EQ(WEXITSTATUS(status_of(exits)), 7);
}

TEST_F(ProcessTree, EndsWholeWithItsFirstProcess) {
  const pid_t tree = start_with_daemon();
  await_daemon();
  go_.put();
  EXPECT_EQ(status_of(tree), 0);
  expect_nobody_left();
}

TEST_F(ProcessTree, EndsWholeWhenItIsAskedTo) {
  const pid_t tree = start_with_daemon();
  await_daemon();
  end_tree(tree);
  EXPECT_EQ(WTERMSIG(status_of(tree)), SIGKILL);
  expect_nobody_left();
}

TEST_F(ProcessTree, EndsAlsoIfItsReaperWasStopped) {
  const pid_t tree = start_with_daemon();
  await_daemon();
  ::kill(tree, SIGSTOP);
  end_tree(tree);
  EXPECT_EQ(WTERMSIG(status_of(tree)), SIGKILL);
  expect_nobody_left();
}

TEST_F(ProcessTree, EndsWholeWhenWhoStartedItIsKilled) {
  const pid_t starter = ::fork();
  if (starter == 0) {
    start_with_daemon();
    stay();
  }
  await_daemon();
  ::kill(starter, SIGKILL);
  status_of(starter);
  expect_nobody_left();
}

// The kernel continues a stopped process group that becomes orphaned (POSIX).
TEST_F(ProcessTree, EndsWholeWithWhoStartedItAlsoIfItsReaperWasStopped) {
  const pid_t starter = ::fork();
  if (starter == 0) {
    ::setsid();
    start_with_daemon();
    stay();
  }
  await_daemon();
  const std::string process = "/proc/" + std::to_string(starter);
  pid_t reaper = 0;
  std::ifstream(process + "/task/" + std::to_string(starter) + "/children") >> reaper;
  ASSERT_GT(reaper, 0);
  ::kill(reaper, SIGSTOP);
  while (state_of(reaper) != 'T') ::sched_yield();  // the signal waits until the reaper runs
  ::kill(starter, SIGKILL);
  status_of(starter);
  expect_nobody_left();
}

TEST_F(ProcessTree, ItsFirstProcessDiesWithAKilledReaper) {
  const pid_t tree = start_tree([this] {
    life_.put();
    stay();
  });
  await_daemon();
  ::kill(tree, SIGKILL);
  EXPECT_EQ(WTERMSIG(status_of(tree)), SIGKILL);
  expect_nobody_left();
}

TEST_F(ProcessTree, SparesAChildFromBefore) {
  const pid_t from_before = ::fork();
  if (from_before == 0) stay();
  const pid_t tree = start_with_daemon();
  await_daemon();
  end_tree(tree);
  status_of(tree);
  EXPECT_EQ(::waitpid(from_before, nullptr, WNOHANG), 0) << "it was ended";
  ::kill(from_before, SIGKILL);
  status_of(from_before);
}

}  // namespace
}  // namespace detol
