#include "cli/watch.h"

#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <ctime>

#include "core/clock.h"
#include "core/file.h"
#include "core/terminal.h"
#include "encodings/study/study_config.h"
#include "knowledge/artefacts.h"
#include "knowledge/studies.h"
#include "printing/output.h"
#include "scheduler/monitor/live_spent.h"
#include "scheduler/monitor/study_monitor.h"
#include "scheduler/time_limits.h"
#include "studies/open_study.h"

namespace detol::inline cli {
namespace {

// Interrupts: while one lives, SIGINT (Ctrl-C) and SIGTERM only end came().
class Interrupts {
 public:
  Interrupts() {
    sigemptyset(&signals_);
    for (const int signal : {SIGINT, SIGTERM}) sigaddset(&signals_, signal);
    ::pthread_sigmask(SIG_BLOCK, &signals_, &before_);
  }
  ~Interrupts() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  // Waits for a signal; returns false after a second without one.
  bool came() const {
    const timespec second{.tv_sec = 1, .tv_nsec = 0};
    return ::sigtimedwait(&signals_, nullptr, &second) > 0;
  }

 private:
  sigset_t signals_{}, before_{};
};

class Watch {
 public:
  Watch(const StudyRecord& record, const StudyConfig& config, std::string storage)
      : record_(record),
        storage_(std::move(storage)),
        state_(config.space, record.objectives),
        monitor_({record.name, record.objectives, config.max_epochs,
                  parse_budget(record.budget).value_or(Budget{})},
                 clock_) {}

  // Reads new events. Opens the database again, as on a network file system it reads a snapshot.
  Result<void> look() {
    DETOL_ASSIGN(const auto reader, Reader::open(storage_));
    DETOL_ASSIGN(const NewEvents fresh, reader->events_after(record_.id, last_));
    for (const Event& event : fresh.events) {
      DETOL_TRY(state_.apply(event));
      if (last_ == 0)
        monitor_.recall(event);
      else
        monitor_.happened(event);
      if (const auto* changed = std::get_if<event::StudyState>(&event)) phase_ = changed->state;
    }
    spent_.account(state_.spent(), clock_.now_s());
    const bool is_first = last_ == 0;
    last_ = fresh.last;
    DETOL_ASSIGN(const auto runner, runner_of(storage_, record_));
    if (runner) writer_seen_s_ = clock_.now_s();
    is_killed_ = is_running() && (is_first ? !writer_seen_s_ : quiet_s() > kRestartS);
    return {};
  }

  bool is_over() const { return !is_running() || is_killed_; }

  // Returns the frame.
  View view() {
    Standing standing{.spent = state_.spent(), .is_stopping = false};
    if (!is_over()) standing.spent = spent_.at(clock_.now_s(), state_.running());
    standing.is_alive = !is_over();
    return monitor_.view(state_, standing);
  }

 private:
  bool is_running() const { return phase_ == StudyPhase::kRunning; }
  double quiet_s() const { return clock_.now_s() - writer_seen_s_.value_or(began_s_); }

  const StudyRecord& record_;
  const std::string storage_;
  Clock& clock_ = system_clock();
  const double began_s_ = clock_.now_s();
  StudyState state_;
  StudyMonitor monitor_;
  std::int64_t last_ = 0;  // the number of the last event read
  LiveSpent spent_;
  std::optional<double> writer_seen_s_;  // when a process last ran it
  StudyPhase phase_ = StudyPhase::kRunning;
  bool is_killed_ = false;
};

// Returns the view as plain lines, for a file or a pipe.
std::string as_lines(const View& view, const Globals& globals) {
  Screen screen = screen_at(STDOUT_FILENO, globals.color);
  std::string text;
  for (const std::string& line : render(view, screen)) text += line + "\n";
  return text;
}

}  // namespace

Result<int> watch_study(const StudyRecord& record, const Arguments& arguments) {
  if (arguments.globals.format != Format::kTable)
    return fail(ErrorCode::kUsage, "status --watch draws a live view; leave out --format");
  DETOL_ASSIGN(const StudyConfig config, load_study_config(record.config, record.name));
  Watch watch(record, config, arguments.globals.storage);
  const Interrupts interrupts;
  Painter painter(STDOUT_FILENO);
  const bool is_live = is_live_terminal(STDOUT_FILENO);
  do {
    DETOL_TRY(watch.look());
    if (is_live) {
      const Screen screen = screen_at(STDOUT_FILENO, arguments.globals.color);
      painter.draw(render(watch.view(), screen), screen);
    }
  } while (!watch.is_over() && !interrupts.came());
  return is_live ? 0 : show(as_lines(watch.view(), arguments.globals));
}

}  // namespace detol::inline cli
