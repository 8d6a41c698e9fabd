#pragma once

// The database's layout: one table of events is the truth, the rest follows from it.
//
//   studies   one row per study: its name, configuration and objectives; never changes
//   progress  one row per study: state, budget, accounting, the number of its last event
//   events    one row per event, numbered without gaps from 1 within its study; the event
//             itself is JSON, which keeps every double exactly and names NaN
//   params    an Asked's choices, a Reported's metrics again as typed cells, so that SQL sees
//   metrics   exact numbers (SQLite's own reading of JSON numbers may be off by one ulp)
//   writer    one row: who may commit; a master that was replaced finds another's token; and the
//             id of the database, which its folder of artefacts has too
//
// A trial's state is not stored: v_trials computes it from its last events by index, so there
// is nothing to update and nothing that could disagree. An append costs one row per event and
// one per metric. Rows are only ever added, except in progress and writer.
//
// Against flipped bits: every row of studies, progress and events carries a hash of all its
// columns; an event's hash covers the sum of the hashes of its rows in params and metrics
// (`cells`); the numbering has no gaps and its end is in progress; and the text of this schema
// itself is compared with what this version would create. verify_impl.h checks all of it. Tables
// are WITHOUT ROWID, so that every key in a tree belongs to a row and is checked with it.

#include <filesystem>

#include "knowledge/sqlite_impl.h"

namespace detol::inline knowledge {

//   1   the id of the database was the upper half of the writer's token
//   2   it is a column of its own
constexpr int kSchemaVersion = 2;           // PRAGMA user_version
constexpr int kApplicationId = 0x64746f6c;  // PRAGMA application_id: "dtol"

// Judges an existing file by its first bytes, without touching anything. Errors (kStorage):
// not a database, another program's, truncated, newer schema. An older one is accepted.
Result<void> check_header(const std::filesystem::path& path);

// Errors (kStorage): not a version from 1 to kSchemaVersion, with what to do.
Result<void> check_version(const std::filesystem::path& path, std::int64_t version);

// Returns the version as the log has it: the file's header may be older than a migration. Errors:
// as check_version.
Result<int> schema_version(sqlite3* database);

// Makes an empty database appear at `path` whole or not at all. Errors (kStorage).
Result<void> create_database(const std::filesystem::path& path);

// Makes the table `writer`. REQUIRES: there is none.
Result<void> define_writer(sqlite3* database);

// Compares the stored definitions with those of the database's version. Errors (kStorage): they
// differ, or it is newer.
Result<void> check_definitions(sqlite3* database);

}  // namespace detol::inline knowledge
