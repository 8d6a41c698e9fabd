#include "scheduler/processes/worker_keeper.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <optional>
#include <vector>

#include "core/clock.h"
#include "core/exit_code.h"
#include "core/fault.h"
#include "core/log.h"
#include "core/shared_clock.h"
#include "core/suspension.h"
#include "scheduler/processes/child.h"
#include "scheduler/processes/guardian.h"
#include "scheduler/processes/process_tree.h"
#include "scheduler/processes/run_folder.h"
#include "scheduler/processes/signals.h"

// NOLINTBEGIN(concurrency-mt-unsafe): this process has one thread.

namespace detol::inline scheduler {
namespace {

constexpr double kFirstReplacementDelayS = 0.2;  // doubles
constexpr int kReplacements = 3;                 // of a worker, in a row
constexpr double kLivesS = 10;                   // a worker that lived so long may start again
constexpr double kLeaveLimitS = 25;              // for workers to leave

class WorkerKeeper {
 public:
  explicit WorkerKeeper(const KeptWorkers& kept)
      : kept_(kept), workers_(static_cast<std::size_t>(kept.workers)) {
    const sigset_t signals = awaited_signals();
    ::sigprocmask(SIG_BLOCK, &signals, &before_);
    signal_fd_ = ::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    (void)share_clock(suspension_file_in(kept_.folder));
    kept_.launch.environment.push_back(guardian_.mark());
  }

  ~WorkerKeeper() {
    for (const Worker& worker : workers_)
      if (worker.tree > 0) end_tree(worker.tree);
    for (const Worker& worker : workers_)
      if (worker.tree > 0) ::waitpid(worker.tree, nullptr, 0);
    ::close(signal_fd_);
    ::sigprocmask(SIG_SETMASK, &before_, nullptr);
  }

  int run() {
    while (!is_over()) {
      if (!leaves_since_s_) start_what_is_due();
      pollfd fd{signal_fd_, POLLIN, 0};
      ::poll(&fd, 1, kTurnMs);
      hear_signals();
      reap();
      if (leaves_since_s_) ask_to_leave();
    }
    if (is_killed_) return kExitSecondSignal;
    if (leaves_since_s_) return kExitResumable;
    const bool any = std::ranges::any_of(workers_, [](const Worker& w) { return w.code == 0; });
    return any ? kExitDone : workers_.front().code.value_or(kExitDone);
  }

 private:
  static constexpr int kTurnMs = 100;

  struct Worker {
    pid_t tree = -1;  // -1: it does not run
    int starts = 0;
    int failures = 0;  // in a row
    int status = 0;    // of its last process
    double started_s = 0, next_start_s = 0;
    std::optional<int> code;  // its exit code, once it is not started again
  };

  bool is_over() const {
    if (is_killed_) return true;
    if (leaves_since_s_ && system_clock().now_s() - *leaves_since_s_ > patience(kLeaveLimitS))
      return true;
    return std::ranges::all_of(workers_,
                               [](const Worker& w) { return w.tree < 0 && w.code.has_value(); });
  }

  void start_what_is_due() {
    const double now_s = system_clock().now_s();
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      Worker& worker = workers_[i];
      if (worker.tree > 0 || worker.code || now_s < worker.next_start_s) continue;
      const std::vector<int> numbers = {static_cast<int>(i), ++worker.starts, kept_.launch.ranks,
                                        worker.status};
      worker.started_s = now_s;
      worker.tree = spawn(role_words(kept_.launch, "__join", kept_.folder, numbers), kept_.launch);
      if (worker.tree < 0) worker.code = kExitInternal;
    }
  }

  void hear_signals() {
    signalfd_siginfo info;
    while (::read(signal_fd_, &info, sizeof info) == sizeof info) {
      if (info.ssi_signo == SIGCHLD) continue;
      if (info.ssi_signo == SIGTSTP) {
        suspend();
        continue;
      }
      if (leaves_since_s_) is_killed_ = true;
      leaves_since_s_ = system_clock().now_s();
    }
  }

  // Ctrl-Z: the workers stand still until `fg`. The search soon does without them, and gives them
  // other trials then.
  void suspend() const {
    std::vector<pid_t> processes;
    for (const Worker& worker : workers_) {
      if (worker.tree > 0)
        std::ranges::copy(children_of(worker.tree), std::back_inserter(processes));
    }
    suspend_with(processes);
  }

  // Again and again: a worker that is just starting ignores the signal.
  void ask_to_leave() {
    for (Worker& worker : workers_) {
      if (worker.tree > 0)
        notify_tree(worker.tree);
      else if (!worker.code)
        worker.code = kExitResumable;
    }
  }

  void reap() {
    int status = 0;
    for (pid_t pid = 0; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) {
      const auto worker = std::ranges::find(workers_, pid, &Worker::tree);
      if (worker != workers_.end()) on_end(*worker, status);
    }
  }

  void on_end(Worker& worker, int status) {
    const double now_s = system_clock().now_s();
    worker.tree = -1;
    worker.status = status;
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    if (now_s - worker.started_s > patience(kLivesS)) worker.failures = 0;
    const bool is_final = code == kExitDone || code == kExitResumable || !kept_.are_replaced;
    if (is_final || leaves_since_s_ || ++worker.failures > kReplacements) {
      worker.code = code;
      return;
    }
    const double delay_s = kFirstReplacementDelayS * (1 << (worker.failures - 1));
    log_warning("a worker ended with {}; another starts in {} s", code, delay_s);
    worker.next_start_s = now_s + delay_s;
  }

  const Guardian guardian_;
  KeptWorkers kept_;
  std::vector<Worker> workers_;
  sigset_t before_;
  int signal_fd_ = -1;
  std::optional<double> leaves_since_s_;
  bool is_killed_ = false;
};

}  // namespace

int keep_workers(const KeptWorkers& kept) {
  return WorkerKeeper(kept).run();
}

}  // namespace detol::inline scheduler

// NOLINTEND(concurrency-mt-unsafe)
