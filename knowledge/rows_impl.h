#pragma once

// Rows of studies and events with their checksums: what the ledger writes and both the
// ledger and readers read back.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "knowledge/event.h"
#include "knowledge/event_json.h"
#include "knowledge/facts.h"
#include "knowledge/storage/sqlite.h"
#include "knowledge/study_record.h"
#include "knowledge/study_summary_impl.h"

namespace detol::inline knowledge {

// Study: a row of `studies` and its row of `progress`.
struct Study {
  StudyRecord record;
  double wall_s = 0;
  double device_s = 0;
  std::int64_t last_seq = 0;
  std::int64_t event_rows = 0;  // its rows in `events`
  std::uint64_t digest = 0;     // the sum of their checksums
  StudySummary summary = {};
};

// StoredEvent: a row of `events`. Its `copy` is equal for repeats, else differs within a key.
struct StoredEvent {
  StudyId study = 0;
  std::int64_t seq = 0;
  EventRow row;
};

// Returns the error (kStorage) that `what`, such as "event 3", is damaged.
Error damaged(sqlite3* database, std::string_view what);

// Returns the metric of the first objective; empty if there is none.
std::string_view first_metric(const StudyRecord& record);

std::uint64_t checksum(const StudyRecord& record);        // of the row of studies
std::uint64_t checksum(const Study& study, int version);  // of the row of progress
std::uint64_t checksum(const StoredEvent& event);
std::uint64_t checksum(const Fact& fact);

// Returns every study in the order of creation, after verifying its checksums. Errors (kStorage).
Result<std::vector<Study>> read_studies(sqlite3* database);

// Returns the study of that name, or nullopt. Errors (kStorage).
Result<std::optional<Study>> study_named(sqlite3* database, const std::string& name);

// Returns the study of that name. Errors (kStudy): there is none, with a did-you-mean.
Result<Study> find_study(sqlite3* database, const std::string& name);

// Returns the study of that number. Errors (kStudy): there is none.
Result<Study> find_study(sqlite3* database, StudyId id);

// Returns a number that no study has. Errors (kStorage).
Result<StudyId> next_study_id(sqlite3* database);

// NumberedEvent: an event and its number within its study.
struct NumberedEvent {
  std::int64_t seq = 0;
  Event event;
};

// Where events are read from: `table` has the layout of a schema's version.
struct EventTable {
  std::string_view name;
  int version;
};

// Returns the events of a study above the number `after` in order, after verifying each row's
// checksum, that the numbering has no gap and, if `after` is 0, the count and digest of the rows.
// Errors (kStorage): what is damaged.
Result<std::vector<NumberedEvent>> read_numbered(sqlite3* database, const EventTable& table,
                                                 const Study& study, std::int64_t after = 0);

// Does so with the table `events`.
Result<std::vector<NumberedEvent>> read_numbered(sqlite3* database, const Study& study,
                                                 std::int64_t after = 0);

// Returns the events in their order.
std::vector<Event> without_numbers(std::vector<NumberedEvent> numbered);

// Implements Ledger::outcomes.
Result<std::vector<event::Source::Trial>> read_outcomes(sqlite3* database, StudyId study);

// Returns the events of one trial in order, but for those of its models, after verifying each row's
// checksum. Errors (kStorage).
Result<std::vector<Event>> read_trial(sqlite3* database, StudyId study, TrialId trial);

// Implements Ledger::known_trial.
Result<std::optional<KnownTrial>> find_known_trial(sqlite3* database, const std::string& identity,
                                                   StudyId except, std::optional<int> ranks);

// Implements Ledger::events.
Result<std::vector<Event>> read_events(sqlite3* database, StudyId id);

// Implements Reader::events_after.
Result<NewEvents> read_events_after(sqlite3* database, StudyId id, std::int64_t after);

}  // namespace detol::inline knowledge
