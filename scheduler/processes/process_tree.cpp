#include "scheduler/processes/process_tree.h"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "core/exit_code.h"

// NOLINTBEGIN(concurrency-mt-unsafe): these processes have one thread.

namespace detol::inline scheduler {
namespace {

constexpr int kCannotStart = 127;  // the exit code of a shell that finds no program

// Returns a signal that no terminal, launcher or batch system sends.
int end_signal() {
  return SIGRTMIN;
}

int notice_signal() {
  return SIGRTMIN + 1;
}

sigset_t set_of(std::initializer_list<int> signals) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals) sigaddset(&set, signal);
  return set;
}

// Makes this process die with `parent`; at once if that is dead already.
void die_with(pid_t parent, int signal) {
  ::prctl(PR_SET_PDEATHSIG, signal);
  if (::getppid() != parent) ::_exit(kExitInternal);
}

// Kills the children. Until a child was waited for, no other process can have its pid.
void kill_children() {
  std::ifstream children("/proc/thread-self/children");
  for (pid_t child = 0; children >> child;) ::kill(child, SIGKILL);
}

class Reaper {
 public:
  explicit Reaper(pid_t first) : first_(first) {}

  // Returns the status of the first process when nothing of the tree is left.
  int run() {
    const sigset_t awaited = set_of({SIGCHLD, end_signal(), notice_signal()});
    for (int signal = 0; !has_ended_ && signal != end_signal();) {
      signal = ::sigwaitinfo(&awaited, nullptr);
      if (signal == notice_signal()) ::kill(first_, SIGUSR1);
      if (signal != end_signal()) wait(WNOHANG);
    }
    do {
      if (!has_ended_) ::kill(first_, SIGKILL);
      kill_children();
    } while (wait(0));
    return status_;
  }

 private:
  // Waits for one child, and returns false if there is none; with WNOHANG, for all that have ended.
  bool wait(int flags) {
    int status = 0;
    pid_t child = 0;
    do {
      child = ::waitpid(-1, &status, flags);
      if (child == first_) {
        has_ended_ = true;
        status_ = status;
      }
    } while (child > 0 && flags == WNOHANG);
    return child > 0;
  }

  const pid_t first_;
  bool has_ended_ = false;
  int status_ = 0;
};

[[noreturn]] void end_as(int status) {
  if (!WIFSIGNALED(status)) ::_exit(WEXITSTATUS(status));
  const int signal = WTERMSIG(status);
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  ::signal(signal, SIG_DFL);
  ::kill(::getpid(), signal);
  const sigset_t own = set_of({signal});
  ::sigprocmask(SIG_UNBLOCK, &own, nullptr);
  ::_exit(kExitInternal);  // not reached: the signal ended it
}

// Runs the reaper. It blocks all signals except the two it waits for, and keeps no file open that
// others wait for. In a process group of its own it is continued by the kernel, if it was stopped,
// when the parent dies.
[[noreturn]] void reap(pid_t parent, const std::function<void()>& play) {
  die_with(parent, end_signal());
  ::setpgid(0, 0);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  ::prctl(PR_SET_NAME, "tree-reaper");  // so that `pkill -9 detol` leaves it to end its tree
  const pid_t self = ::getpid();
  const pid_t first = ::fork();
  if (first == 0) {
    die_with(self, SIGKILL);
    play();
    ::_exit(kCannotStart);
  }
  if (first < 0) ::_exit(kCannotStart);
  ::close_range(STDERR_FILENO + 1, ~0U, 0);
  end_as(Reaper(first).run());
}

}  // namespace

pid_t start_tree(const std::function<void()>& play) {
  const pid_t self = ::getpid();
  sigset_t all, before;
  sigfillset(&all);
  ::signal(SIGCHLD, SIG_DFL);  // if ignored, it would hide how children end
  ::sigprocmask(SIG_SETMASK, &all, &before);
  const pid_t reaper = ::fork();
  if (reaper == 0) reap(self, play);
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  return reaper;
}

void notify_tree(pid_t reaper) {
  ::kill(reaper, notice_signal());
}

// SIGCONT is for a reaper that was stopped.
void end_tree(pid_t reaper) {
  ::kill(reaper, end_signal());
  ::kill(reaper, SIGCONT);
}

}  // namespace detol::inline scheduler

// NOLINTEND(concurrency-mt-unsafe)
