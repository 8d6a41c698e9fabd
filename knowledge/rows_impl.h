#pragma once

// Rows of studies and events with their checksums: what the ledger writes and both the
// ledger and readers read back.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "knowledge/event_json_impl.h"
#include "knowledge/ledger.h"
#include "knowledge/query.h"
#include "knowledge/sqlite_impl.h"

namespace detol::inline knowledge {

// Study: a row of `studies` and its row of `progress`.
struct Study {
  StudyRecord record;
  double wall_s = 0;
  double device_s = 0;
  std::int64_t last_seq = 0;
};

// StoredEvent: a row of `events`.
struct StoredEvent {
  StudyId study = 0;
  std::int64_t seq = 0;
  EventRow row;
  std::int64_t repeat_key = 0;  // the column `copy`: equal for repeats, else differs within a key
  std::uint64_t cells = 0;      // sum of the hashes of its rows in params or metrics
};

// Returns the error (kStorage) that `what`, such as "event 3", is damaged.
Error damaged(sqlite3* database, std::string_view what);

// Returns the metric of the first objective; empty if there is none.
std::string_view first_metric(const StudyRecord& record);

std::uint64_t checksum(const StudyRecord& record);  // of the row of studies
std::uint64_t checksum(const Study& study);         // of the row of progress
std::uint64_t checksum(const StoredEvent& event);

// Return the hash of one row; StoredEvent::cells is the sum of these.
std::uint64_t param_hash(StudyId study, std::int64_t trial, std::string_view name,
                         const Value& value);
std::uint64_t metric_hash(StudyId study, std::int64_t trial, std::int64_t epoch,
                          std::int64_t attempt, std::string_view name, double value);

// Returns every study in the order of creation, after verifying its checksums. Errors (kStorage).
Result<std::vector<Study>> read_studies(sqlite3* database);

// Returns the study of that name. Errors (kStudy): there is none, with a did-you-mean.
Result<Study> find_study(sqlite3* database, const std::string& name);

// Calls `visit` with every event of a study above the number `after` in order, after verifying
// its checksum and that the numbering has no gap. Stops at the first error.
Result<void> for_each_event(sqlite3* database, const Study& study,
                            const std::function<Result<void>(const StoredEvent&)>& visit,
                            std::int64_t after = 0);

// Implements Ledger::events.
Result<std::vector<Event>> read_events(sqlite3* database, StudyId id);

// Implements Reader::events_after.
Result<NewEvents> read_events_after(sqlite3* database, StudyId id, std::int64_t after);

}  // namespace detol::inline knowledge
