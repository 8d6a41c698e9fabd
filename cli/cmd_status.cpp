// `status` and `studies` show the same row of a study. `status --watch` draws it live, from the
// knowledge base alone.

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>

#include "cli/commands.h"
#include "core/clock.h"
#include "core/table.h"
#include "core/terminal.h"
#include "encodings/study/study_config.h"
#include "knowledge/artefacts.h"
#include "knowledge/query.h"
#include "knowledge/studies.h"
#include "models/stop_signals.h"
#include "scheduler/monitor/live_spent.h"
#include "scheduler/monitor/study_monitor.h"
#include "scheduler/time_limits.h"
#include "studies/labels.h"
#include "studies/open_study.h"
#include "studies/study_status.h"
#include "studies/trial_columns.h"

namespace detol::inline cli {
namespace {

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

bool came_within_a_second(AwaitedSignals& signals) {
  pollfd waiting{.fd = signals.descriptor(), .events = POLLIN, .revents = 0};
  ::poll(&waiting, 1, 1000);
  return signals.take();
}

// Returns the view as plain lines, for a file or a pipe.
std::string as_lines(const View& view, const Globals& globals) {
  Screen screen = screen_at(STDOUT_FILENO, globals.color);
  std::string text;
  for (const std::string& line : render(view, screen)) text += line + "\n";
  return text;
}

// Draws on stdout every second until the study ends or Ctrl-C, and returns 0. Draws a study that no
// process runs once. If stdout is no terminal, prints only the last frame. Reads only new events.
Result<int> watch_study(const StudyRecord& record, const Arguments& arguments) {
  if (arguments.globals.format != Format::kTable)
    return usage_error("status --watch draws a live view; leave out --format");
  DETOL_ASSIGN(const StudyConfig config, load_study_config(record.config, record.name));
  Watch watch(record, config, arguments.globals.storage);
  AwaitedSignals signals;
  Painter painter(STDOUT_FILENO);
  const bool is_live = is_live_terminal(STDOUT_FILENO);
  do {
    DETOL_TRY(watch.look());
    if (is_live) {
      const Screen screen = screen_at(STDOUT_FILENO, arguments.globals.color);
      painter.draw(render(watch.view(), screen), screen);
    }
  } while (!watch.is_over() && !came_within_a_second(signals));
  return is_live ? 0 : show(as_lines(watch.view(), arguments.globals));
}

// Returns the labels of the study itself, from facts of kind `label`.
Labels own_labels(const StudyRecord& study, std::span<const Fact> facts) {
  return labels_of(study, facts)[std::nullopt];
}

Result<int> run_status(const Arguments& arguments) {
  DETOL_ASSIGN(OpenStudy study, open_study_of(arguments));
  auto& [reader, record] = study;
  if (arguments.has("watch")) {
    reader.reset();  // so that the watch can open the file
    return watch_study(record, arguments);
  }
  DETOL_ASSIGN(Rows rows, status_of(study, arguments.globals.storage));
  DETOL_ASSIGN(const auto facts, reader->facts(kLabelFact));
  add_label_columns({own_labels(record, facts)}, arguments.globals.format, rows);
  return show_record(rows, arguments.globals);
}

// Adds the labels of each study, and leaves out those without the tag, unless it is empty.
Result<void> label_studies(Reader& reader, const std::string& tag, Format format, Rows& rows) {
  DETOL_ASSIGN(const auto records, reader.studies());
  DETOL_ASSIGN(const auto facts, reader.facts(kLabelFact));
  std::vector<Labels> kept;
  Rows shown{.columns = rows.columns, .rows = {}};
  for (auto& row : rows.rows) {
    const auto record =
        std::ranges::find(records, std::get<std::string>(row.front()), &StudyRecord::name);
    // A study that was renamed meanwhile has none.
    Labels labels = record == records.end() ? Labels() : own_labels(*record, facts);
    if (!tag.empty() && !labels.tags.contains(tag)) continue;
    kept.push_back(std::move(labels));
    shown.rows.push_back(std::move(row));
  }
  add_label_columns(kept, format, shown);
  rows = std::move(shown);
  return {};
}

Result<int> run_studies(const Arguments& arguments) {
  DETOL_ASSIGN(const auto reader, Reader::open(arguments.globals.storage));
  DETOL_ASSIGN(Rows rows, study_rows(*reader, arguments.globals.storage));
  const std::string tag = arguments.text("tag");
  DETOL_TRY(label_studies(*reader, tag, arguments.globals.format, rows));
  if (rows.rows.empty())
    return fail(ErrorCode::kEmpty, fmt::format("no study has the tag {}", in_quotes(tag)));
  return show(rows, arguments.globals);
}

}  // namespace

std::vector<Command> status_commands() {
  return {
      {.name = "status",
       .summary = "how far a study is, also while it runs",
       .options = {{"STUDY", "", "its name; default: the newest study"},
                   {"--watch", "", "draw it every second until it ends or Ctrl-C"}},
       .examples = "  detol status\n"
                   "  detol status fashion-cnn -f json\n"
                   "  detol status fashion-cnn --watch",
       .run = run_status},
      {.name = "studies",
       .summary = "list the studies of the knowledge base and who runs them",
       .options = {{"--tag", "WORD", "only those with that tag (detol study tag); default: all"}},
       .examples = "  detol studies\n  detol studies --storage /data/detol.db -f csv",
       .run = run_studies}};
}

}  // namespace detol::inline cli
