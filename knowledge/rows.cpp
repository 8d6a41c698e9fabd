#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/hash.h"
#include "core/table.h"
#include "knowledge/rows_impl.h"

namespace detol::inline knowledge {

Error damaged(sqlite3* database, std::string_view what) {
  return {ErrorCode::kStorage, fmt::format("{}: {} is damaged; restore a backup",
                                           sqlite3_db_filename(database, "main"), what)};
}
namespace {

// Fields encodes values so that no two lists have equal bytes: a type, then 8 bytes or a length.
class Fields {
 public:
  Fields& add(std::int64_t value) { return append('i', value); }
  Fields& add(std::uint64_t value) { return add(static_cast<std::int64_t>(value)); }
  Fields& add(int value) { return add(std::int64_t{value}); }
  Fields& add(bool value) { return add(std::int64_t{value}); }
  Fields& add(double value) {
    // SQLite keeps neither the sign of a zero nor the bits of a NaN.
    if (std::isnan(value)) return add(std::string_view("NaN"));
    return append('r', std::bit_cast<std::int64_t>(value == 0 ? 0.0 : value));
  }
  Fields& add(std::string_view text) {
    append('t', static_cast<std::int64_t>(text.size()));
    bytes_.append(text);
    return *this;
  }
  std::uint64_t hash() const { return hash64(bytes_); }

 private:
  Fields& append(char type, std::int64_t value) {
    bytes_.push_back(type);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }

  std::string bytes_;
};

Result<Study> study_from(sqlite3* database, const sqlite::Statement& row) {
  const bool is_typed = row.has_types("itttiRitttRRii");  // before the reads convert the columns
  Study study;
  StudyRecord& record = study.record;
  record.id = row.integer(0);
  record.name = row.text(1);
  record.config = row.text(2);
  const std::string objectives(row.text(3));
  record.data_fingerprint = static_cast<std::uint64_t>(row.integer(4));
  record.created_s = row.real(5);
  const auto state = study_phase_from(row.text(8));
  record.state = state.value_or(StudyPhase::kRunning);
  record.budget = row.text(9);
  study.wall_s = row.real(10);
  study.device_s = row.real(11);
  study.last_seq = row.integer(12);
  if (auto parsed = objectives_from(objectives)) record.objectives = std::move(*parsed);
  const bool is_whole = is_typed && state && row.text(7) == first_metric(record) &&
                        checksum(record) == static_cast<std::uint64_t>(row.integer(6)) &&
                        checksum(study) == static_cast<std::uint64_t>(row.integer(13));
  if (is_whole) return study;
  return tl::unexpected(damaged(database, fmt::format("the row of study {}", record.id)));
}

StoredEvent event_from(const sqlite::Statement& row) {
  StoredEvent event;
  event.study = row.integer(9);
  event.seq = row.integer(0);
  event.row.kind = row.text(1);
  event.row.trial = row.integer(2);
  event.row.attempt = static_cast<int>(row.integer(3));
  event.row.epoch = static_cast<int>(row.integer(4));
  event.repeat_key = row.integer(5);
  event.row.payload = row.text(6);
  event.cells = static_cast<std::uint64_t>(row.integer(7));
  return event;
}

}  // namespace

std::string_view first_metric(const StudyRecord& record) {
  return record.objectives.empty() ? std::string_view() : record.objectives[0].metric;
}

std::uint64_t checksum(const StudyRecord& record) {
  return Fields()
      .add(record.id)
      .add(record.name)
      .add(record.config)
      .add(to_json(record.objectives))
      .add(record.data_fingerprint)
      .add(record.created_s)
      .hash();
}

std::uint64_t checksum(const Study& study) {
  return Fields()
      .add(study.record.id)
      .add(to_text(study.record.state))
      .add(study.record.budget)
      .add(study.wall_s)
      .add(study.device_s)
      .add(study.last_seq)
      .hash();
}

std::uint64_t checksum(const StoredEvent& event) {
  return Fields()
      .add(event.study)
      .add(event.seq)
      .add(event.row.kind)
      .add(event.row.trial)
      .add(event.row.attempt)
      .add(event.row.epoch)
      .add(event.repeat_key)
      .add(event.row.payload)
      .add(event.cells)
      .hash();
}

std::uint64_t param_hash(StudyId study, std::int64_t trial, std::string_view name,
                         const Value& value) {
  Fields fields;
  fields.add(study).add(trial).add(name);
  std::visit([&fields](const auto& plain) { fields.add(plain); }, value);
  return fields.hash();
}

std::uint64_t metric_hash(StudyId study, std::int64_t trial, std::int64_t epoch,
                          std::int64_t attempt, std::string_view name, double value) {
  return Fields().add(study).add(trial).add(epoch).add(attempt).add(name).add(value).hash();
}

Result<std::vector<Study>> read_studies(sqlite3* database) {
  DETOL_ASSIGN(auto rows,
               sqlite::Statement::prepare(
                   database,
                   "SELECT s.id, s.name, s.config, s.objectives, s.data_fingerprint, s.created, "
                   "s.checksum, s.metric, p.state, p.budget, p.wall_seconds, p.device_seconds, "
                   "p.last_seq, p.checksum FROM studies s LEFT JOIN progress p ON p.study = s.id "
                   "ORDER BY s.id"));
  std::vector<Study> studies;
  while (true) {
    DETOL_ASSIGN(const bool more, rows.step());
    if (!more) return studies;
    DETOL_ASSIGN(Study study, study_from(database, rows));
    studies.push_back(std::move(study));
  }
}

Result<Study> find_study(sqlite3* database, const std::string& name) {
  DETOL_ASSIGN(auto studies, read_studies(database));
  std::vector<std::string_view> names;
  for (Study& study : studies) {
    if (study.record.name == name) return std::move(study);
    names.push_back(study.record.name);
  }
  if (names.empty()) {
    return fail(ErrorCode::kStudy,
                fmt::format("no study '{}': {} holds none yet; `detol search` makes one", name,
                            sqlite3_db_filename(database, "main")));
  }
  return fail(ErrorCode::kStudy, unknown_name("study", name, names));
}

Result<void> for_each_event(sqlite3* database, const Study& study,
                            const std::function<Result<void>(const StoredEvent&)>& visit,
                            std::int64_t after) {
  DETOL_ASSIGN(auto rows,
               sqlite::Statement::prepare(
                   database,
                   "SELECT seq, kind, trial, attempt, epoch, copy, payload, cells, "
                   "checksum, study FROM events WHERE study = ?1 AND seq > ?2 ORDER BY seq"));
  const StudyRecord& record = study.record;
  rows.bind(1, record.id);
  rows.bind(2, after);
  for (std::int64_t expected = after + 1;; ++expected) {
    DETOL_ASSIGN(const bool more, rows.step());
    const bool is_end = expected > study.last_seq;
    if (!more && is_end) return {};
    if (more != !is_end || rows.integer(0) != expected) {
      return tl::unexpected(damaged(
          database,
          fmt::format("the list of events of study '{}' at number {}", record.name, expected)));
    }
    const bool is_typed = rows.has_types("itiiiitiii");  // before the reads convert the columns
    const StoredEvent event = event_from(rows);
    const bool is_whole = is_typed && event.study == record.id &&
                          event.row.attempt == rows.integer(3) &&
                          event.row.epoch == rows.integer(4) &&
                          checksum(event) == static_cast<std::uint64_t>(rows.integer(8));
    if (!is_whole) {
      return tl::unexpected(
          damaged(database, fmt::format("event {} of study '{}'", expected, record.name)));
    }
    DETOL_TRY(visit(event));
  }
}

Result<std::vector<Event>> read_events(sqlite3* database, StudyId id) {
  return read_events_after(database, id, 0).map([](NewEvents all) {
    return std::move(all.events);
  });
}

Result<NewEvents> read_events_after(sqlite3* database, StudyId id, std::int64_t after) {
  DETOL_ASSIGN(const auto studies, read_studies(database));
  const auto study = std::find_if(studies.begin(), studies.end(),
                                  [id](const Study& each) { return each.record.id == id; });
  if (study == studies.end())
    return fail(ErrorCode::kStudy, fmt::format("no study has the number {}", id));
  NewEvents fresh{.events = {}, .last = study->last_seq};
  const auto add = [&fresh](const StoredEvent& stored) -> Result<void> {
    DETOL_ASSIGN(Event event, to_event(stored.row));
    fresh.events.push_back(std::move(event));
    return {};
  };
  DETOL_TRY(for_each_event(database, *study, add, after));
  if (study->wall_s != 0 || study->device_s != 0)
    fresh.events.emplace_back(event::Accounted{study->wall_s, study->device_s});
  return fresh;
}

}  // namespace detol::inline knowledge
