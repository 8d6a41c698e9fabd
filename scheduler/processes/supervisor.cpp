#include "scheduler/processes/supervisor.h"

#include <poll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
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
#include "scheduler/processes/supervisor_protocol.h"

// NOLINTBEGIN(concurrency-mt-unsafe): this process has one thread.

namespace detol::inline scheduler {
namespace {

constexpr double kFirstRestartDelayS = 0.2;  // before a restart; doubles
constexpr int kRestarts = 3;                 // without a durable report in between
constexpr double kMasterHangsS = 120;        // of silence: the master hangs
constexpr double kBeginS = 600;              // of silence at its start, while it reads its data
constexpr double kStopLimitS = 9.5;          // for a master that was asked to stop
constexpr double kOneStopS = 0.2;  // `timeout` signals its child, then the group it is in: one stop

std::string describe(int status) {
  if (WIFSIGNALED(status)) return fmt::format("signal {}", WTERMSIG(status));
  return fmt::format("exit code {}", WEXITSTATUS(status));
}

class Supervisor {
 public:
  Supervisor(std::string folder, GroupLaunch launch, std::optional<StderrRedirect> redirect)
      : folder_(std::move(folder)), launch_(std::move(launch)), redirect_(std::move(redirect)) {
    const sigset_t signals = awaited_signals();
    ::sigprocmask(SIG_BLOCK, &signals, &before_);
    pipe_before_ = ::signal(SIGPIPE, SIG_IGN);  // `detol search 2>&1 | head` shall continue
    signal_fd_ = ::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    (void)share_clock(suspension_file_in(folder_));
    launch_.environment.push_back(guardian_.mark());
  }

  ~Supervisor() {
    end_all();
    ::close(signal_fd_);
    ::signal(SIGPIPE, pipe_before_);
    ::sigprocmask(SIG_SETMASK, &before_, nullptr);
  }

  int run() {
    start_service();
    start_master();
    while (!result_) {
      wait();
      hear_signals();
      hear_master();
      reap();
      watch_the_clock();
    }
    return *result_;
  }

 private:
  void wait() {
    pollfd fds[] = {{signal_fd_, POLLIN, 0}, {socket_, POLLIN, 0}};
    ::poll(fds, socket_ >= 0 ? 2 : 1, start_at_s_ || stop_at_s_ ? 50 : 1000);
  }

  // Starts the service and waits for it only shortly: the workers can train without it.
  void start_service() {
    Service& service = launch_.service;
    if (service.words.empty()) return;
    constexpr double kPatienceS = 5;
    constexpr int kLookMs = 10;
    service_ = spawn({}, {.launcher = service.words, .environment = service.environment});
    const double limit_s = system_clock().now_s() + patience(kPatienceS);
    std::error_code ignored;
    while (service_ > 0 && system_clock().now_s() < limit_s &&
           !std::filesystem::exists(service.ready, ignored)) {
      ::poll(nullptr, 0, kLookMs);
      if (::waitpid(service_, nullptr, WNOHANG) == service_) service_ = -1;
    }
    if (service_ < 0) return on_service_end();
    launch_.environment.insert(launch_.environment.end(), service.environment.begin(),
                               service.environment.end());
  }

  // Removes the files of the service, so that no worker tries to connect to it.
  void on_service_end() {
    const Service& service = launch_.service;
    service_ = -1;
    std::error_code ignored;
    std::filesystem::remove_all(service.folder, ignored);
    std::erase_if(launch_.environment, [&](const std::string& setting) {
      return std::ranges::find(service.environment, setting) != service.environment.end();
    });
    log_warning("{} ended; workers that share a GPU take turns on it", service.words.front());
  }

  void start_master() {
    (void)fault("supervisor.master");
    start_at_s_.reset();
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
      redirect_.reset();
      log_error("cannot make a socket pair: {}", std::generic_category().message(errno));
      result_ = kExitInternal;
      return;
    }
    socket_ = ends[0];
    for (const auto& [number, worker] : workers_)
      send_packet(socket_, supervisor::Event{supervisor::Event::kStarted, number, worker.start, 0});
    master_ =
        spawn({"detol", "__master", folder_, std::to_string(ends[1]), std::to_string(::getpid())},
              {.launcher = {}, .environment = {guardian_.mark()}},
              {ends[1], redirect_ ? redirect_->before() : -1});
    ::close(ends[1]);
    if (master_ < 0) result_ = kExitInternal;
    speaks_by_s_ = system_clock().now_s() + patience(kBeginS);
  }

  void hear_signals() {
    signalfd_siginfo info;
    while (::read(signal_fd_, &info, sizeof info) == sizeof info) {
      if (info.ssi_signo == SIGCHLD) continue;
      if (info.ssi_signo == SIGTSTP) {
        suspend();
        continue;
      }
      const double now_s = system_clock().now_s();
      if (stop_at_s_ && static_cast<int>(info.ssi_signo) == stop_signal_ &&
          now_s < *stop_at_s_ + kOneStopS)
        continue;
      if (stop_at_s_) {
        result_ = kExitSecondSignal;
        return;
      }
      stop_at_s_ = now_s;
      stop_signal_ = static_cast<int>(info.ssi_signo);
      if (master_ < 0)
        result_ = kExitResumable;  // between two masters
      else
        send_packet(socket_, supervisor::Event{supervisor::Event::kStopRequested, 0, 0, 0});
    }
  }

  // Ctrl-Z: all of the run stands still until `fg`. The master, whose transactions others may wait
  // for, stops last. Connections to other machines (ssh, srun) would break if they stood still.
  void suspend() {
    if (launch_.remote)
      log_warning("the master stands still; workers on other machines go on until they need it");
    std::vector<pid_t> processes;
    for (const auto& [number, worker] : workers_) {
      if (!launch_.remote)
        std::ranges::copy(children_of(worker.pid), std::back_inserter(processes));
    }
    const std::vector<pid_t> master = master_ > 0 ? children_of(master_) : std::vector<pid_t>();
    suspend_with(processes, master.empty() ? -1 : master.front());
  }

  void hear_master() {
    while (socket_ >= 0) {
      const std::optional<supervisor::Command> command = next_command(socket_);
      if (!command) return;
      speaks_by_s_ = system_clock().now_s() + patience(kMasterHangsS);
      const auto worker = workers_.find(command->worker);
      switch (command->kind) {
        case supervisor::Command::kAlive:
          break;
        case supervisor::Command::kProgress:
          restarts_ = 0;
          break;
        case supervisor::Command::kKill:
          if (worker != workers_.end()) end_tree(worker->second.pid);
          break;
        case supervisor::Command::kStart:
          if (worker == workers_.end()) start_worker(command->worker);
          break;
      }
    }
  }

  void start_worker(int number) {
    (void)fault("supervisor.worker");
    const int start = ++starts_;
    const pid_t pid =
        launch_.remote
            ? spawn({}, {.launcher = launch_.remote(number, start), .environment = {}})
            : spawn(role_words(launch_, "__worker", folder_, {number, start, launch_.ranks}),
                    launch_);
    if (pid > 0) workers_[number] = {pid, start};
    if (pid > 0)
      send_packet(socket_, supervisor::Event{supervisor::Event::kStarted, number, start, 0});
    else
      send_packet(socket_, supervisor::Event{supervisor::Event::kExited, number, start, 127 << 8});
  }

  // Children that are not of this run existed before it, or were adopted because this process is
  // the first of its container: they are waited for, and otherwise left alone.
  void reap() {
    int status = 0;
    for (pid_t pid = 0; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) {
      if (pid == master_)
        on_master_end(status);
      else if (pid == service_)
        on_service_end();
      else
        on_worker_end(pid, status);
    }
  }

  void on_worker_end(pid_t pid, int status) {
    const auto it =
        std::ranges::find_if(workers_, [pid](const auto& item) { return item.second.pid == pid; });
    if (it == workers_.end()) return;  // not of this run
    const auto [number, worker] = *it;
    workers_.erase(it);
    if (socket_ >= 0)
      send_packet(socket_,
                  supervisor::Event{supervisor::Event::kExited, number, worker.start, status});
  }

  void on_master_end(int status) {
    hear_master();  // what it sent before it ended
    ::close(std::exchange(socket_, -1));
    master_ = -1;
    const bool is_final =
        WIFEXITED(status) && WEXITSTATUS(status) != kExitInternal && WEXITSTATUS(status) != 127;
    if (is_final) {
      result_ = WEXITSTATUS(status);
    } else if (stop_at_s_) {
      result_ = kExitResumable;
    } else if (restarts_ == kRestarts) {
      redirect_.reset();
      log_error(
          "the master ended {} times without progress, last by {}; the storage keeps what was "
          "acknowledged; run again with --debug to see more",
          kRestarts + 1, describe(status));
      result_ = kExitFailures;
    } else {
      const double delay_s = kFirstRestartDelayS * (1 << restarts_++);
      log_warning("the master ended by {}; a new one starts in {} s, the workers train on",
                  describe(status), delay_s);
      start_at_s_ = system_clock().now_s() + delay_s;
    }
  }

  void watch_the_clock() {
    const double now_s = system_clock().now_s();
    if (!result_ && start_at_s_ && now_s >= *start_at_s_) start_master();
    if (master_ > 0 && now_s > speaks_by_s_) {
      log_warning("the master hangs; it is ended");
      end_tree(master_);
      speaks_by_s_ = now_s + kMasterHangsS;
    }
    if (!result_ && stop_at_s_ && now_s > *stop_at_s_ + kStopLimitS) result_ = kExitResumable;
  }

  void end_all() {
    std::vector<pid_t> trees = {master_, service_};
    for (const auto& [number, worker] : workers_) trees.push_back(worker.pid);
    std::erase_if(trees, [](pid_t tree) { return tree <= 0; });
    for (const pid_t tree : trees) end_tree(tree);
    for (const pid_t tree : trees) ::waitpid(tree, nullptr, 0);
    if (socket_ >= 0) ::close(socket_);
  }

  struct Worker {
    pid_t pid = -1;  // of the reaper of its tree
    int start = 0;
  };

  const Guardian guardian_;
  std::string folder_;
  GroupLaunch launch_;
  std::optional<StderrRedirect> redirect_;  // while a live view is on the terminal
  sigset_t before_;
  sighandler_t pipe_before_ = SIG_DFL;
  int signal_fd_ = -1;
  int socket_ = -1;
  pid_t master_ = -1;  // of the reaper of its tree, as is service_
  pid_t service_ = -1;
  std::map<int, Worker> workers_;     // by number
  int starts_ = 0;                    // of workers, in this run
  int restarts_ = 0;                  // since the last progress
  double speaks_by_s_ = 0;            // a master silent until then hangs
  std::optional<double> start_at_s_;  // of the next master
  std::optional<double> stop_at_s_;   // when a stop was requested
  int stop_signal_ = 0;               // by this
  std::optional<int> result_;
};

}  // namespace

int supervise(const std::filesystem::path& folder, const GroupLaunch& launch,
              std::optional<StderrRedirect> redirect) {
  return Supervisor(folder.string(), launch, std::move(redirect)).run();
}

}  // namespace detol::inline scheduler

// NOLINTEND(concurrency-mt-unsafe)
