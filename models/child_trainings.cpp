// A child writes a line of JSON for each report, and one for its end, into a pipe:
//
//   {"epoch": 2, "part": 0, "metrics": [["val_accuracy", 0.9], ...]}
//   {"end": 0, "cause": "diverged", "reason": "..."}     or     {"error": 4, "message": "..."}
//
// Its Control is in memory that both processes see: the parent suspends it there, and ends a child
// whose progress stands still. An exception, or an error that is internal, such as a device that no
// longer answers, is as if the process had died.

#include "models/child_trainings.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <exception>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "core/child_process.h"
#include "core/clock.h"
#include "core/exit_code.h"
#include "core/fault.h"
#include "core/json_text.h"
#include "core/log.h"
#include "core/suspension.h"
#include "models/stop_signals.h"
#include "scheduler/time_limits.h"

namespace detol::inline models {
namespace {

using nlohmann::json;

Evaluation crashed(std::string reason) {
  return {Evaluation::End::kFailed, Cause::kCrashed, std::move(reason)};
}

json line_of(const EpochReport& report) {
  json metrics = json::array();
  for (const Metric& metric : report.metrics) metrics.push_back({metric.name, metric.value});
  return {{"epoch", report.epoch}, {"part", report.part}, {"metrics", metrics}};
}

EpochReport report_in(const json& line) {
  EpochReport report{.epoch = line.at("epoch"), .part = line.at("part"), .metrics = {}};
  for (const json& metric : line.at("metrics")) {
    if (metric.at(1).is_number()) report.metrics.push_back({metric.at(0), metric.at(1)});
  }
  return report;
}

json line_of(const Result<Evaluation>& ended) {
  if (!ended) return {{"error", ended.error().code}, {"message", ended.error().message}};
  return {{"end", ended->end}, {"cause", to_text(ended->cause)}, {"reason", ended->reason}};
}

Result<Evaluation> end_in(const json& line) {
  if (line.contains("error")) return fail(line.at("error"), line.at("message"));
  const std::string cause = line.at("cause");
  return Evaluation{line.at("end"), cause_from(cause).value_or(Cause::kCrashed), line.at("reason")};
}

void write_line(int pipe, const json& line) {
  const std::string text = compact(line) + '\n';
  for (std::string_view rest = text; !rest.empty();) {
    const ssize_t written = ::write(pipe, rest.data(), rest.size());
    if (written < 0 && errno != EINTR) ::_exit(kExitInternal);
    if (written > 0) rest.remove_prefix(static_cast<std::size_t>(written));
  }
}

// ProgressWatch: whether a training stands still for longer than it may.
class ProgressWatch {
 public:
  bool hangs(std::uint64_t progress) {
    const double now_s = system_clock().now_s();
    if (progress == seen_) return now_s - changed_s_ > hangs_after_s(slowest_s_);
    if (seen_ > 0) slowest_s_ = std::max(slowest_s_, now_s - changed_s_);
    changed_s_ = now_s;
    seen_ = progress;
    return false;
  }

 private:
  std::uint64_t seen_ = 0;
  double changed_s_ = system_clock().now_s();
  double slowest_s_ = 0;
};

// SharedControl: a Control that this process and its children see. Empty if there is no memory.
struct Unmapped {
  void operator()(Control* control) const { ::munmap(control, sizeof(Control)); }
};
using SharedControl = std::unique_ptr<Control, Unmapped>;

SharedControl shared_control() {
  void* memory =
      ::mmap(nullptr, sizeof(Control), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return SharedControl(memory == MAP_FAILED ? nullptr : new (memory) Control);
}

// Returns the last line of this process, which is a child.
json train_here(const ChildTraining& training, int place, Control& control, int pipe) try {
  const Reporter report = [pipe](const EpochReport& epoch, bool) {
    write_line(pipe, line_of(epoch));
    return Verdict::kContinue;
  };
  return line_of(training(place, report, control));
} catch (const std::bad_alloc&) {
  return line_of(Evaluation{Evaluation::End::kFailed, Cause::kOutOfMemory, "an allocation failed"});
} catch (const std::exception& error) {
  return line_of(fail(ErrorCode::kInternal, error.what()));
}

struct Child {
  std::size_t training = 0;
  int place = 0;
  pid_t pid = -1;
  int pipe = -1;
  SharedControl control = {};
  ProgressWatch watch = {};
  bool hung = false;
  std::string unread = {};                       // the beginning of a line
  std::optional<Result<Evaluation>> ended = {};  // as it said
};

// State: of a training.
struct State {
  std::optional<Evaluation> ended = {};
  bool runs = false;
  double furthest = 0;  // epochs reported
  int crashes = 0;      // in a row without a new epoch
};

class Children {
 public:
  explicit Children(const ChildTrainings& work) : work_(work), states_(work.trainings.size()) {}

  Result<std::vector<Evaluation>> run() {
    start();
    while (!children_.empty()) {
      wait();
      start();
    }
    if (error_) return tl::unexpected<Error>(*error_);
    const Evaluation suspended{.end = Evaluation::End::kSuspended, .reason = {}};
    std::vector<Evaluation> all;
    for (State& state : states_) all.push_back(std::move(state.ended).value_or(suspended));
    return all;
  }

 private:
  void start() {
    for (std::size_t i = 0; i < states_.size() && !stops_; ++i) {
      if (std::cmp_greater_equal(children_.size(), work_.at_once)) return;
      if (!states_[i].runs && !states_[i].ended) start_child(i);
    }
  }

  void start_child(std::size_t training) {
    Child child{.training = training, .place = free_place()};
    int ends[2];
    const pid_t parent = ::getpid();
    child.control = shared_control();
    if (!child.control || ::pipe2(ends, O_CLOEXEC) != 0) return stop(cannot_start());
    child.pid = ::fork();
    if (child.pid == 0) play(child, ends[1], parent);
    ::close(ends[1]);
    child.pipe = ends[0];
    if (child.pid < 0) {
      ::close(ends[0]);
      return stop(cannot_start());
    }
    states_[training].runs = true;
    children_.push_back(std::move(child));
  }

  static Error cannot_start() {
    return {ErrorCode::kInternal,
            fmt::format("cannot start a process: {}", std::generic_category().message(errno))};
  }

  // Trains in this process, which is a new child.
  [[noreturn]] void play(const Child& child, int pipe, pid_t parent) {
    ::setpgid(0, 0);  // a terminal's Ctrl-C reaches the parent alone
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(kExitInternal);
    signals_.ignore_in_child();  // the parent hears them
    write_line(pipe,
               train_here(work_.trainings[child.training], child.place, *child.control, pipe));
    ::_exit(kExitDone);
  }

  int free_place() const {
    int place = 0;
    while (std::ranges::find(children_, place, &Child::place) != children_.end()) ++place;
    return place;
  }

  // Blocks until a signal or a child says something, or a second has passed.
  void wait() {
    std::vector<pollfd> polled = {{signals_.descriptor(), POLLIN, 0}};
    for (const Child& child : children_) polled.push_back({child.pipe, POLLIN, 0});
    constexpr int kLookEveryMs = 1000;
    ::poll(polled.data(), polled.size(), kLookEveryMs);
    bool is_asked = false;  // `timeout` sends its signal twice
    while (const auto signal = signals_.next()) {
      if (*signal == SIGTSTP)
        stand_still();
      else
        is_asked = true;
    }
    if (is_asked) heed_signal();
    for (std::size_t i = children_.size(); i-- > 0;) {
      end_if_hung(children_[i]);
      if (polled[i + 1].revents != 0) hear(i);
    }
  }

  static void end_if_hung(Child& child) {
    if (child.hung || !child.watch.hangs(child.control->progress)) return;
    child.hung = true;
    ::kill(child.pid, SIGKILL);
  }

  // Ctrl-Z: the trainings stand still until `fg`, too.
  void stand_still() const {
    std::vector<pid_t> processes;
    for (const Child& child : children_) processes.push_back(child.pid);
    suspend_with(processes);
  }

  void heed_signal() {
    if (was_asked_) ::_exit(kExitSecondSignal);
    was_asked_ = true;
    log_info("stopping: the models keep what they have learned");
    suspend();
  }

  void stop(Error error) {
    if (!error_) error_ = std::move(error);
    suspend();
  }

  void suspend() {
    stops_ = true;
    for (const Child& child : children_) child.control->suspend = true;
  }

  void hear(std::size_t at) {
    Child& child = children_[at];
    char bytes[1 << 16];
    const ssize_t count = ::read(child.pipe, bytes, sizeof bytes);
    if (count < 0 && errno == EINTR) return;
    if (count <= 0) return reap(at);
    child.unread.append(bytes, static_cast<std::size_t>(count));
    for (std::size_t end = 0; (end = child.unread.find('\n')) != std::string::npos;) {
      take_line(child, child.unread.substr(0, end));
      child.unread.erase(0, end + 1);
    }
  }

  void take_line(Child& child, const std::string& text) {
    const json line = json_or_discarded(text);
    if (!line.contains("metrics")) {
      child.ended = end_in(line);
      return;
    }
    const EpochReport report = report_in(line);
    State& state = states_[child.training];
    if (report.epochs() > state.furthest) state.crashes = 0;
    state.furthest = std::max(state.furthest, report.epochs());
    work_.on_report(child.training, report);
  }

  // Ends what is left of a child that has closed its pipe.
  void reap(std::size_t at) {
    Child child = std::move(children_[at]);
    children_.erase(children_.begin() + static_cast<std::ptrdiff_t>(at));
    ::close(child.pipe);
    const int status = wait_for_end(child.pid);
    State& state = states_[child.training];
    state.runs = false;
    if (child.hung) return note_crash(state, "it made no progress");
    if (!child.ended) return note_crash(state, "its process ended with " + to_text(status));
    if (!*child.ended && child.ended->error().code == ErrorCode::kInternal)
      return note_crash(state, child.ended->error().message);
    if (!*child.ended) return stop(child.ended->error());
    if ((*child.ended)->end != Evaluation::End::kSuspended) state.ended = **child.ended;
  }

  static std::string to_text(int status) {
    return WIFSIGNALED(status) ? fmt::format("signal {}", WTERMSIG(status))
                               : fmt::format("code {}", WEXITSTATUS(status));
  }

  void note_crash(State& state, const std::string& how) const {
    if (++state.crashes >= work_.attempts)
      state.ended = crashed(fmt::format("{}; {} times in a row", how, state.crashes));
    else
      log_warning("a training is started again: {}", how);
  }

  const ChildTrainings& work_;
  AwaitedSignals signals_{SIGTSTP};
  std::vector<State> states_;
  std::vector<Child> children_;
  std::optional<Error> error_;
  bool stops_ = false;      // nothing is started any more
  bool was_asked_ = false;  // by a signal
};

}  // namespace

Result<std::vector<Evaluation>> train_in_children(const ChildTrainings& work) {
  return Children(work).run();
}

}  // namespace detol::inline models
