#include "core/suspension.h"

#include <poll.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include "core/clock.h"
#include "core/shared_clock.h"

namespace detol::inline core {
namespace {

constexpr int kSettleMs = 200;  // for `last`

// Signals a process, then what it has started: a process that was stopped starts no more.
void signal_tree(pid_t process, int signal) {
  ::kill(process, signal);
  for (const pid_t child : children_of(process)) signal_tree(child, signal);
}

void stop_here() {
  sigset_t stop, before;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTSTP);
  ::raise(SIGTSTP);
  ::sigprocmask(SIG_UNBLOCK, &stop, &before);  // NOLINT(concurrency-mt-unsafe): one thread
  // Here it stands still.
  ::sigprocmask(SIG_SETMASK, &before, nullptr);  // NOLINT(concurrency-mt-unsafe): one thread
}

}  // namespace

std::vector<pid_t> children_of(pid_t process) {
  std::vector<pid_t> all;
  std::error_code ignored;
  const std::string tasks = "/proc/" + std::to_string(process) + "/task";
  for (const auto& task : std::filesystem::directory_iterator(tasks, ignored)) {
    std::ifstream children(task.path() / "children");
    for (pid_t child = 0; children >> child;) all.push_back(child);
  }
  return all;
}

void suspend_with(std::span<const pid_t> processes, pid_t last) {
  for (const pid_t process : processes) signal_tree(process, SIGSTOP);
  if (last > 0) {
    ::poll(nullptr, 0, kSettleMs);
    signal_tree(last, SIGSTOP);
  }
  const double since_s = system_clock().now_s();
  stop_here();
  leave_out(system_clock().now_s() - since_s);
  if (last > 0) signal_tree(last, SIGCONT);
  for (const pid_t process : processes) signal_tree(process, SIGCONT);
}

}  // namespace detol::inline core
