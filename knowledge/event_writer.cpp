#include <fmt/format.h>

#include <algorithm>

#include <sqlite3.h>

#include "core/hash.h"
#include "knowledge/event_writer_impl.h"
#include "knowledge/reports.h"
#include "knowledge/schema_impl.h"

namespace detol::inline knowledge {
namespace {

using sqlite::Statement;

// Returns a number that is equal for repeats of an event, not for others of its key (ledger.h).
std::int64_t repeat_key_of(const StoredEvent& stored, const Event& event) {
  if (std::holds_alternative<event::Asked>(event)) return 0;
  if (std::holds_alternative<event::StudyState>(event)) return stored.seq;
  std::string same = stored.row.payload;
  if (const auto* refit = std::get_if<event::Refit>(&event))
    same = fmt::format("{} {}", refit->version, refit->model);
  if (const auto* chosen = std::get_if<event::AlgorithmChosen>(&event)) same = chosen->key;
  if (const auto* source = std::get_if<event::Source>(&event)) same = source->study;
  return static_cast<std::int64_t>(hash64(same));
}

Result<void> write_progress(Statement& statement, const Study& study) {
  statement.bind(1, study.record.id);
  statement.bind(2, to_text(study.record.state));
  statement.bind(3, std::string_view(study.record.budget));
  statement.bind(4, study.wall_s);
  statement.bind(5, study.device_s);
  statement.bind(6, study.last_seq);
  statement.bind(7, study.event_rows);
  statement.bind(8, study.digest);
  const std::optional<BestTrial>& best = study.summary.best;
  statement.bind(9, study.summary.trials);
  statement.bind(10, study.summary.is_best_known ? 1 : 0);
  best ? statement.bind(11, static_cast<std::int64_t>(best->trial)) : statement.bind_null(11);
  best ? statement.bind(12, best->value) : statement.bind_null(12);
  const bool has_changed = !study.record.begun_with.empty();
  has_changed ? statement.bind(13, std::string_view(study.record.config)) : statement.bind_null(13);
  statement.bind(14, checksum(study, kSchemaVersion));
  return statement.run();
}

}  // namespace

Result<EventWriter> EventWriter::make(sqlite3* database) {
  EventWriter writer;
  writer.database_ = database;
  struct Entry {
    Statement& statement;
    std::string_view sql;
  };
  const Entry entries[] = {
      {writer.newest_attempt_,
       "SELECT max(attempt) FROM events WHERE study = ?1 AND trial = ?2 AND kind = 'started'"},
      {writer.last_state_,
       "SELECT payload FROM events WHERE study = ?1 AND trial = -1 AND kind = 'state' "
       "ORDER BY attempt DESC, step DESC, copy DESC LIMIT 1"},
      {writer.add_event_,
       "INSERT INTO events VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) "
       "ON CONFLICT (study, trial, kind, attempt, step, copy) DO NOTHING"},
      {writer.erase_event_, "DELETE FROM events WHERE study = ?1 AND seq = ?2"},
      {writer.next_report_,
       "SELECT step, epoch, copy FROM events INDEXED BY events_by_trial WHERE study = ?1 AND "
       "trial = ?2 AND kind = 'reported' AND attempt = ?3 AND step >= ?4 ORDER BY step LIMIT 1"},
      {writer.single_reports_,
       "SELECT seq, attempt, epoch, step, payload FROM events INDEXED BY events_by_trial "
       "WHERE study = ?1 AND trial = ?2 AND kind = 'reported' AND copy = 1 "
       "ORDER BY attempt, step"},
      {writer.add_study_, "INSERT INTO studies VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)"},
      {writer.last_outcome_,
       "SELECT iif(payload->>'fidelity' > 0, payload->>'state', '') FROM events INDEXED BY "
       "events_by_trial WHERE study = ?1 AND trial = ?2 AND kind = 'told' AND seq < ?3 "
       "ORDER BY seq DESC LIMIT 1"},
      {writer.last_change_,
       "SELECT payload->>'state' FROM events INDEXED BY events_by_trial WHERE study = ?1 AND "
       "trial = ?2 AND kind IN ('started', 'requeued', 'told') AND seq < ?3 "
       "ORDER BY seq DESC LIMIT 1"},
      {writer.save_progress_,
       "REPLACE INTO progress VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, "
       "?14)"},
  };
  for (const Entry& entry : entries) {
    DETOL_ASSIGN(entry.statement, Statement::prepare(database, entry.sql));
  }
  return writer;
}

Result<void> EventWriter::create(const Study& study) {
  const StudyRecord& record = study.record;
  const std::string objectives = to_json(record.objectives);
  add_study_.bind(1, record.id);
  add_study_.bind(2, std::string_view(record.name));
  add_study_.bind(3, std::string_view(record.first_config()));
  add_study_.bind(4, std::string_view(objectives));
  add_study_.bind(5, first_metric(record));
  add_study_.bind(6, record.data_fingerprint);
  add_study_.bind(7, record.created_s);
  add_study_.bind(8, checksum(record));
  DETOL_TRY(add_study_.run());
  return save(study);
}

Result<void> EventWriter::save(const Study& study) {
  return write_progress(save_progress_, study);
}

Result<void> EventWriter::add(Study& study, const Event& event) {
  if (const auto* accounted = std::get_if<event::Accounted>(&event)) {
    study.wall_s = accounted->wall_s;
    study.device_s = accounted->device_s;
    return {};
  }
  const std::int64_t seq = study.last_seq + 1;
  StoredEvent stored{study.record.id, seq, {}};
  if (const auto* reported = std::get_if<event::Reported>(&event)) {
    NumberedReport report{seq, *reported};
    if (report.report.step == 0) report.report.step = reported->epoch;
    stored.row = row_of({&report, 1});
  } else {
    stored.row = to_row(event, study.record.objectives);
    stored.row.copy = repeat_key_of(stored, event);
  }
  DETOL_ASSIGN(const bool left_out, is_left_out(stored));
  if (left_out) return {};
  DETOL_ASSIGN(const bool is_new, insert(study, stored));
  if (!is_new) return {};
  study.last_seq = seq;
  if (const auto* changed = std::get_if<event::StudyState>(&event)) {
    study.record.state = changed->state;
    study.record.budget = changed->budget;
    if (!changed->config.empty()) {
      if (study.record.begun_with.empty()) study.record.begun_with = study.record.config;
      study.record.config = changed->config;
    }
  }
  DETOL_TRY(summarise(study, stored, event));
  if (const auto* told = std::get_if<event::Told>(&event)) return pack_reports(study, told->trial);
  return {};
}

// Updates the summary. A best trial that is not known is found when the study starts or ends.
Result<void> EventWriter::summarise(Study& study, const StoredEvent& stored, const Event& event) {
  DETOL_ASSIGN(const bool has_failed, had_failed(stored));
  bool is_complete = false;
  if (needs_best(study.summary, study.record, event)) {
    DETOL_ASSIGN(is_complete, is_best_complete(study, stored));
  }
  update(study.summary, study.record, event, {has_failed, is_complete});
  if (study.summary.is_best_known || stored.row.kind != "state") return {};
  DETOL_ASSIGN(auto events, read_numbered(database_, {"events", kSchemaVersion}, study));
  study.summary = summary_of(study.record, without_numbers(std::move(events)));
  return {};
}

// Returns true if the last outcome of the event's trial was a FAIL before, with reports: one
// without has no value that could count again.
Result<bool> EventWriter::had_failed(const StoredEvent& stored) {
  const std::string& kind = stored.row.kind;
  if (kind != "told" && kind != "requeued" && (kind != "started" || stored.row.attempt == 1))
    return false;
  last_outcome_.bind(1, stored.study);
  last_outcome_.bind(2, stored.row.trial);
  last_outcome_.bind(3, stored.seq);
  DETOL_ASSIGN(const bool found, last_outcome_.step());
  const bool has_failed = found && last_outcome_.text(0) == to_text(TrialState::kFail);
  last_outcome_.reset();
  return has_failed;
}

// Returns true if the study's best trial was COMPLETE before. REQUIRES: there is one.
Result<bool> EventWriter::is_best_complete(const Study& study, const StoredEvent& stored) {
  last_change_.bind(1, stored.study);
  last_change_.bind(2, static_cast<std::int64_t>(study.summary.best->trial));
  last_change_.bind(3, stored.seq);
  DETOL_ASSIGN(const bool found, last_change_.step());
  const bool is_complete = found && last_change_.text(0) == to_text(TrialState::kComplete);
  last_change_.reset();
  return is_complete;
}

Result<bool> EventWriter::is_left_out(const StoredEvent& stored) {
  const EventRow& row = stored.row;
  if (row.kind == "state") {
    last_state_.bind(1, stored.study);
    DETOL_ASSIGN(const bool found, last_state_.step());
    const bool is_repeat = found && last_state_.text(0) == row.payload;
    last_state_.reset();
    return is_repeat;
  }
  if (row.attempt == 0) return false;
  newest_attempt_.bind(1, stored.study);
  newest_attempt_.bind(2, row.trial);
  DETOL_TRY(newest_attempt_.step());
  const bool is_stale = row.attempt < newest_attempt_.integer(0);
  newest_attempt_.reset();
  if (is_stale || row.kind != "reported") return is_stale;
  return is_reported(stored);
}

// Returns true if a row holds this report with others. A row of its own would be in the way of a
// second one.
Result<bool> EventWriter::is_reported(const StoredEvent& stored) {
  next_report_.bind(1, stored.study);
  next_report_.bind(2, stored.row.trial);
  next_report_.bind(3, stored.row.attempt);
  next_report_.bind(4, stored.row.step);
  DETOL_ASSIGN(const bool found, next_report_.step());
  const std::int64_t first_epoch = next_report_.integer(1) - next_report_.integer(2) + 1;
  const bool is_within = next_report_.integer(2) > 1 && stored.row.epoch >= first_epoch;
  next_report_.reset();
  return found && is_within;
}

// Returns false if the event is stored already.
Result<bool> EventWriter::insert(Study& study, const StoredEvent& stored) {
  const EventRow& row = stored.row;
  add_event_.bind(1, stored.study);
  add_event_.bind(2, stored.seq);
  add_event_.bind(3, std::string_view(row.kind));
  add_event_.bind(4, row.trial);
  add_event_.bind(5, row.attempt);
  add_event_.bind(6, row.epoch);
  add_event_.bind(7, row.step);
  add_event_.bind(8, row.copy);
  add_event_.bind(9, std::string_view(row.payload));
  add_event_.bind(10, checksum(stored));
  DETOL_TRY(add_event_.run());
  if (sqlite3_changes(database_) == 0) return false;
  ++study.event_rows;
  study.digest += checksum(stored);
  return true;
}

Result<void> EventWriter::erase(Study& study, const StoredEvent& stored) {
  erase_event_.bind(1, stored.study);
  erase_event_.bind(2, stored.seq);
  DETOL_TRY(erase_event_.run());
  --study.event_rows;
  study.digest -= checksum(stored);
  return {};
}

// Returns the rows of a trial that hold one report, in the order of attempt and step.
Result<std::vector<StoredEvent>> EventWriter::single_reports(StudyId study, TrialId trial) {
  single_reports_.bind(1, study);
  single_reports_.bind(2, static_cast<std::int64_t>(trial));
  std::vector<StoredEvent> rows;
  while (true) {
    DETOL_ASSIGN(const bool more, single_reports_.step());
    if (!more) break;
    rows.push_back({study, single_reports_.integer(0),
                    EventRow{.kind = "reported",
                             .trial = static_cast<std::int64_t>(trial),
                             .attempt = static_cast<int>(single_reports_.integer(1)),
                             .epoch = static_cast<int>(single_reports_.integer(2)),
                             .step = single_reports_.integer(3),
                             .copy = 1,
                             .payload = std::string(single_reports_.text(4))}});
  }
  single_reports_.reset();
  return rows;
}

// Returns the row of as many of the first reports as fit together; at least one. `sizes` are those
// of their rows of one: a longer row has what two of them share but once, so that the guess is
// close.
EventRow EventWriter::fitting(std::span<const NumberedReport> reports,
                              std::span<const std::size_t> sizes) {
  constexpr std::size_t kMaxPayload = 900;  // SQLite puts longer rows into pages of their own
  const auto may_follow = [&](std::size_t i) {
    return reports[i - 1].seq < reports[i].seq &&
           continues(reports[i - 1].report, reports[i].report);
  };
  if (reports.size() == 1 || !may_follow(1)) return row_of(reports.first(1));
  const std::size_t two = row_of(reports.first(2)).payload.size();
  const std::size_t shared = sizes[0] + sizes[1] - std::min(two, sizes[0] + sizes[1]);
  std::size_t count = 1;
  for (std::size_t guess = sizes[0]; count < reports.size() && may_follow(count); ++count) {
    guess += sizes[count] - std::min(shared, sizes[count]);
    if (guess > kMaxPayload) break;
  }
  EventRow row = row_of(reports.first(count));
  while (count > 1 && row.payload.size() > kMaxPayload) row = row_of(reports.first(--count));
  return row;
}

// Replaces the rows of a trial's reports by rows of as many reports as fit together.
Result<void> EventWriter::pack_reports(Study& study, TrialId trial) {
  DETOL_ASSIGN(const auto rows, single_reports(study.record.id, trial));
  std::vector<NumberedReport> reports;
  std::vector<std::size_t> sizes;
  for (const StoredEvent& row : rows) {
    DETOL_ASSIGN(auto one, reports_of(row.row, row.seq));
    reports.push_back(std::move(one.front()));
    sizes.push_back(row.row.payload.size());
  }
  std::size_t count = 0;
  for (std::size_t first = 0; first < rows.size(); first += count) {
    EventRow packed = fitting(std::span(reports).subspan(first), std::span(sizes).subspan(first));
    count = static_cast<std::size_t>(packed.copy);
    if (count == 1) continue;
    for (std::size_t i = first; i < first + count; ++i) DETOL_TRY(erase(study, rows[i]));
    const std::int64_t last = reports[first + count - 1].seq;
    DETOL_TRY(insert(study, {study.record.id, last, std::move(packed)}));
  }
  return {};
}

}  // namespace detol::inline knowledge
