#include <fmt/format.h>

#include "core/hash.h"
#include "knowledge/event_writer_impl.h"

namespace detol::inline knowledge {
namespace {

using sqlite::Statement;

void bind_value(Statement& statement, int index, const Value& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return statement.bind(index, *flag ? 1 : 0);
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return statement.bind(index, *whole);
  if (const auto* real = std::get_if<double>(&value)) return statement.bind(index, *real);
  statement.bind(index, std::string_view(std::get<std::string>(value)));
}

std::uint64_t cells_of(const StoredEvent& stored, const Event& event) {
  std::uint64_t sum = 0;
  const EventRow& row = stored.row;
  if (const auto* asked = std::get_if<event::Asked>(&event)) {
    for (const auto& [name, value] : asked->params)
      sum += param_hash(stored.study, row.trial, name, value);
  }
  if (const auto* reported = std::get_if<event::Reported>(&event)) {
    for (const auto& [name, value] : reported->metrics)
      sum += metric_hash(stored.study, row.trial, row.epoch, row.attempt, name, value);
  }
  return sum;
}

// Returns a number that is equal for repeats of an event, not for others of its key (ledger.h).
std::int64_t repeat_key_of(const StoredEvent& stored, const Event& event) {
  if (std::holds_alternative<event::Asked>(event)) return 0;
  if (std::holds_alternative<event::Reported>(event)) return 0;
  if (std::holds_alternative<event::StudyState>(event)) return stored.seq;
  std::string same = stored.row.payload;
  if (const auto* refit = std::get_if<event::Refit>(&event))
    same = fmt::format("{} {}", refit->version, refit->model);
  if (const auto* chosen = std::get_if<event::AlgorithmChosen>(&event)) same = chosen->key;
  return static_cast<std::int64_t>(hash64(same));
}

Result<void> write_progress(Statement& statement, const Study& study) {
  statement.bind(1, study.record.id);
  statement.bind(2, to_text(study.record.state));
  statement.bind(3, std::string_view(study.record.budget));
  statement.bind(4, study.wall_s);
  statement.bind(5, study.device_s);
  statement.bind(6, study.last_seq);
  statement.bind(7, checksum(study));
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
       "ORDER BY attempt DESC, epoch DESC, copy DESC LIMIT 1"},
      {writer.add_event_,
       "INSERT INTO events VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) "
       "ON CONFLICT (study, trial, kind, attempt, epoch, copy) DO NOTHING"},
      {writer.add_param_, "INSERT INTO params VALUES (?1, ?2, ?3, ?4)"},
      {writer.add_metric_, "INSERT INTO metrics VALUES (?1, ?2, ?3, ?4, ?5, ?6)"},
      {writer.add_study_, "INSERT INTO studies VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)"},
      {writer.add_progress_, "INSERT INTO progress VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)"},
      {writer.save_progress_,
       "UPDATE progress SET state = ?2, budget = ?3, wall_seconds = ?4, device_seconds = ?5, "
       "last_seq = ?6, checksum = ?7 WHERE study = ?1"},
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
  add_study_.bind(3, std::string_view(record.config));
  add_study_.bind(4, std::string_view(objectives));
  add_study_.bind(5, first_metric(record));
  add_study_.bind(6, record.data_fingerprint);
  add_study_.bind(7, record.created_s);
  add_study_.bind(8, checksum(record));
  DETOL_TRY(add_study_.run());
  return write_progress(add_progress_, study);
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
  StoredEvent stored{study.record.id, study.last_seq + 1, to_row(event, study.record.objectives)};
  stored.cells = cells_of(stored, event);
  stored.repeat_key = repeat_key_of(stored, event);
  DETOL_ASSIGN(const bool left_out, is_left_out(stored));
  if (left_out) return {};
  DETOL_ASSIGN(const bool is_new, insert(stored));
  if (!is_new) return {};
  study.last_seq = stored.seq;
  if (const auto* changed = std::get_if<event::StudyState>(&event)) {
    study.record.state = changed->state;
    study.record.budget = changed->budget;
  }
  if (const auto* asked = std::get_if<event::Asked>(&event)) return insert_params(stored, *asked);
  if (const auto* reported = std::get_if<event::Reported>(&event))
    return insert_metrics(stored, *reported);
  return {};
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
  return is_stale;
}

// Returns false if the event is stored already.
Result<bool> EventWriter::insert(const StoredEvent& stored) {
  const EventRow& row = stored.row;
  add_event_.bind(1, stored.study);
  add_event_.bind(2, stored.seq);
  add_event_.bind(3, std::string_view(row.kind));
  add_event_.bind(4, row.trial);
  add_event_.bind(5, row.attempt);
  add_event_.bind(6, row.epoch);
  add_event_.bind(7, stored.repeat_key);
  add_event_.bind(8, std::string_view(row.payload));
  add_event_.bind(9, stored.cells);
  add_event_.bind(10, checksum(stored));
  DETOL_TRY(add_event_.run());
  return sqlite3_changes(database_) > 0;
}

Result<void> EventWriter::insert_params(const StoredEvent& stored, const event::Asked& asked) {
  add_param_.bind(1, stored.study);
  add_param_.bind(2, stored.row.trial);
  for (const auto& [name, value] : asked.params) {
    add_param_.bind(3, std::string_view(name));
    bind_value(add_param_, 4, value);
    DETOL_TRY(add_param_.run());
  }
  return {};
}

Result<void> EventWriter::insert_metrics(const StoredEvent& stored,
                                         const event::Reported& reported) {
  add_metric_.bind(1, stored.study);
  add_metric_.bind(2, stored.row.trial);
  add_metric_.bind(3, stored.row.epoch);
  add_metric_.bind(4, stored.row.attempt);
  for (const auto& [name, value] : reported.metrics) {
    add_metric_.bind(5, std::string_view(name));
    add_metric_.bind(6, value);
    DETOL_TRY(add_metric_.run());
  }
  return {};
}

}  // namespace detol::inline knowledge
