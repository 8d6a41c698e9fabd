#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

#include <sqlite3.h>

#include "core/hash.h"
#include "core/table.h"
#include "knowledge/reports.h"
#include "knowledge/rows_impl.h"
#include "knowledge/schema_impl.h"

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

void add_summary(Fields& fields, const StudySummary& summary) {
  fields.add(summary.trials).add(summary.is_best_known).add(summary.best.has_value());
  if (summary.best)
    fields.add(static_cast<std::int64_t>(summary.best->trial)).add(summary.best->value);
}

// A row of a table of events, and its stored checksum.
struct FoundRow {
  StoredEvent event;
  std::uint64_t checksum = 0;
  bool is_whole = false;
};

// Returns the hash of a row as versions before 3 stored it; `cells` was the hash of its rows in
// tables that are no more.
std::uint64_t old_checksum(const StoredEvent& event, std::int64_t cells) {
  return Fields()
      .add(event.study)
      .add(event.seq)
      .add(event.row.kind)
      .add(event.row.trial)
      .add(event.row.attempt)
      .add(event.row.epoch)
      .add(event.row.copy)
      .add(event.row.payload)
      .add(cells)
      .hash();
}

constexpr std::string_view kColumns =
    "study, seq, kind, trial, attempt, epoch, copy, payload, "
    "checksum";

FoundRow row_from(const sqlite::Statement& row, int version) {
  const bool is_typed = row.has_types("iitiiiitii");  // before the reads convert the columns
  FoundRow found;
  StoredEvent& event = found.event;
  event.study = row.integer(0);
  event.seq = row.integer(1);
  event.row.kind = row.text(2);
  event.row.trial = row.integer(3);
  event.row.attempt = static_cast<int>(row.integer(4));
  event.row.epoch = static_cast<int>(row.integer(5));
  event.row.copy = row.integer(6);
  event.row.payload = row.text(7);
  found.checksum = static_cast<std::uint64_t>(row.integer(8));
  const bool is_new = version >= kFirstWithDigests;
  if (is_new) event.row.step = row.integer(9);
  found.is_whole =
      is_typed && event.row.attempt == row.integer(4) && event.row.epoch == row.integer(5) &&
      found.checksum == (is_new ? checksum(event) : old_checksum(event, row.integer(9)));
  return found;
}

// Returns the next row after verifying its checksum, nullopt at the end. `study` names it in the
// error (kStorage).
Result<std::optional<FoundRow>> next_row(sqlite3* database, sqlite::Statement& rows, int version,
                                         std::string_view study) {
  DETOL_ASSIGN(const bool more, rows.step());
  if (!more) return std::optional<FoundRow>();
  FoundRow found = row_from(rows, version);
  if (found.is_whole) return found;
  return tl::unexpected(
      damaged(database, fmt::format("event {} of study {}", found.event.seq, study)));
}

// Appends the events of a row that are above the number `after`.
Result<void> append_events(const FoundRow& found, int version, std::int64_t after,
                           std::vector<NumberedEvent>& events) {
  const StoredEvent& stored = found.event;
  if (version < kFirstWithDigests || stored.row.kind != "reported") {
    DETOL_ASSIGN(Event event, to_event(stored.row));
    events.push_back({stored.seq, std::move(event)});
    return {};
  }
  DETOL_ASSIGN(auto reports, reports_of(stored.row, stored.seq));
  for (NumberedReport& each : reports) {
    if (each.seq > after) events.push_back({each.seq, std::move(each.report)});
  }
  return {};
}

// Checks that the events are numbered without gaps from after + 1 to the study's last.
Result<void> check_numbers(sqlite3* database, const std::vector<NumberedEvent>& events,
                           const Study& study, std::int64_t after) {
  std::int64_t expected = after;
  for (const NumberedEvent& event : events) {
    if (event.seq != ++expected) break;
  }
  const bool is_whole = std::ssize(events) == study.last_seq - after && expected == study.last_seq;
  if (is_whole || (events.empty() && after >= study.last_seq)) return {};
  return tl::unexpected(damaged(
      database,
      fmt::format("the list of events of study '{}' at number {}", study.record.name, expected)));
}

}  // namespace

std::string_view first_metric(const StudyRecord& record) {
  return record.objectives.empty() ? std::string_view() : record.objectives[0].metric;
}

std::uint64_t checksum(const StudyRecord& record) {
  return Fields()
      .add(record.id)
      .add(record.name)
      .add(record.first_config())
      .add(to_json(record.objectives))
      .add(record.data_fingerprint)
      .add(record.created_s)
      .hash();
}

std::uint64_t checksum(const Study& study, int version) {
  Fields fields;
  fields.add(study.record.id)
      .add(to_text(study.record.state))
      .add(study.record.budget)
      .add(study.wall_s)
      .add(study.device_s)
      .add(study.last_seq);
  if (version >= kFirstWithDigests) fields.add(study.event_rows).add(study.digest);
  if (version >= kFirstWithSummaries) add_summary(fields, study.summary);
  if (version >= kFirstWithConfigs && !study.record.begun_with.empty())
    fields.add(study.record.config);
  return fields.hash();
}

std::uint64_t checksum(const StoredEvent& event) {
  return Fields()
      .add(event.study)
      .add(event.seq)
      .add(event.row.kind)
      .add(event.row.trial)
      .add(event.row.attempt)
      .add(event.row.epoch)
      .add(event.row.step)
      .add(event.row.copy)
      .add(event.row.payload)
      .hash();
}

std::uint64_t checksum(const Fact& fact) {
  return Fields().add(fact.kind).add(fact.key).add(fact.payload).hash();
}

Result<std::vector<NumberedEvent>> read_numbered(sqlite3* database, const EventTable& table,
                                                 const Study& study, std::int64_t after) {
  DETOL_ASSIGN(
      auto rows,
      sqlite::Statement::prepare(
          database,
          fmt::format("SELECT {}, {} FROM {} WHERE study = ?1 AND seq > ?2 ORDER BY seq", kColumns,
                      table.version < kFirstWithDigests ? "cells" : "step", table.name)));
  const StudyRecord& record = study.record;
  rows.bind(1, record.id);
  rows.bind(2, after);
  std::vector<NumberedEvent> events;
  std::int64_t count = 0;
  std::uint64_t digest = 0;
  const std::string name = fmt::format("'{}'", record.name);
  while (true) {
    DETOL_ASSIGN(const auto found, next_row(database, rows, table.version, name));
    if (!found) break;
    ++count;
    digest += found->checksum;
    DETOL_TRY(append_events(*found, table.version, after, events));
  }
  std::ranges::sort(events, {}, &NumberedEvent::seq);
  DETOL_TRY(check_numbers(database, events, study, after));
  const bool has_digest = after == 0 && table.version >= kFirstWithDigests;
  if (!has_digest || (count == study.event_rows && digest == study.digest)) return events;
  return tl::unexpected(
      damaged(database, fmt::format("the list of events of study '{}'", record.name)));
}

Result<std::vector<NumberedEvent>> read_numbered(sqlite3* database, const Study& study,
                                                 std::int64_t after) {
  DETOL_ASSIGN(const int version, schema_version(database));
  return read_numbered(database, {"events", version}, study, after);
}

std::vector<Event> without_numbers(std::vector<NumberedEvent> numbered) {
  std::vector<Event> events;
  events.reserve(numbered.size() + 1);  // a reader appends the accounting
  for (NumberedEvent& each : numbered) events.push_back(std::move(each.event));
  return events;
}

Result<std::vector<event::Source::Trial>> read_outcomes(sqlite3* database, StudyId study) {
  DETOL_ASSIGN(auto rows,
               sqlite::Statement::prepare(
                   database, fmt::format("SELECT {}, step FROM events WHERE study = ?1 AND kind IN "
                                         "('asked', 'told') ORDER BY seq",
                                         kColumns)));
  rows.bind(1, study);
  std::map<TrialId, event::Asked> asked;
  std::map<TrialId, event::Told> told;
  const std::string name = std::to_string(study);
  while (true) {
    DETOL_ASSIGN(const auto found, next_row(database, rows, kSchemaVersion, name));
    if (!found) break;
    DETOL_ASSIGN(Event event, to_event(found->event.row));
    if (auto* one = std::get_if<event::Asked>(&event)) asked.emplace(one->trial, std::move(*one));
    if (auto* one = std::get_if<event::Told>(&event)) told[one->trial] = std::move(*one);
  }
  std::vector<event::Source::Trial> trials;
  for (auto& [id, one] : asked) {
    const auto end = told.find(id);
    if (end == told.end() || end->second.reason.cause == EndCause::kSameTrial) continue;
    const auto* measured = std::get_if<Measured>(&end->second.outcome);
    if (measured == nullptr) continue;
    trials.push_back({std::move(one.params), measured->values, measured->fidelity, measured->work});
  }
  return trials;
}

Result<std::vector<Event>> read_trial(sqlite3* database, StudyId study, TrialId trial) {
  DETOL_ASSIGN(
      auto rows,
      sqlite::Statement::prepare(
          database, fmt::format("SELECT {}, step FROM events INDEXED BY events_by_trial "
                                "WHERE study = ?1 AND trial = ?2 AND kind <> 'model' ORDER BY seq",
                                kColumns)));
  rows.bind(1, study);
  rows.bind(2, static_cast<std::int64_t>(trial));
  std::vector<NumberedEvent> numbered;
  while (true) {
    DETOL_ASSIGN(const auto found, next_row(database, rows, kSchemaVersion, std::to_string(study)));
    if (!found) break;
    DETOL_TRY(append_events(*found, kSchemaVersion, 0, numbered));
  }
  std::ranges::sort(numbered, {}, &NumberedEvent::seq);
  return without_numbers(std::move(numbered));
}

Result<std::vector<Event>> read_events(sqlite3* database, StudyId id) {
  return read_events_after(database, id, 0).map([](NewEvents all) {
    return std::move(all.events);
  });
}

Result<NewEvents> read_events_after(sqlite3* database, StudyId id, std::int64_t after) {
  DETOL_ASSIGN(const Study study, find_study(database, id));
  DETOL_ASSIGN(auto numbered, read_numbered(database, study, after));
  NewEvents fresh{.events = without_numbers(std::move(numbered)), .last = study.last_seq};
  if (study.wall_s != 0 || study.device_s != 0)
    fresh.events.emplace_back(event::Accounted{study.wall_s, study.device_s});
  return fresh;
}

}  // namespace detol::inline knowledge
