#pragma once

// The database's layout. The table of events is authoritative: params, metrics and views repeat it.
//
//   studies   one row per study: its name, configuration and objectives; never changes
//   progress  one row per study: state, budget, accounting, the number of its last event
//   events    one row per event, numbered without gaps from 1 within its study; the event
//             itself is JSON, which keeps every double exactly and has a name for NaN
//   params    the choices of an Asked and the metrics of a Reported again, as typed cells, so that
//   metrics   SQL reads exact numbers (SQLite's reading of JSON numbers may be off by one ulp)
//   writer    one row: the token of the only master that may commit; and the id of the database,
//             which its folder of artefacts has too
//
// A trial's state is not stored: v_trials computes it from its last events by index, so there
// is nothing to update and nothing can contradict it. An append costs one row per event and one
// per metric. Rows are only ever added, except in progress and writer.
//
// Against flipped bits: every row of studies, progress and events carries a hash of all its
// columns; an event's hash covers the sum of the hashes of its rows in params and metrics
// (`cells`); the numbering has no gaps and its end is in progress; and the text of this schema
// itself is compared with what this version would create. verify_impl.h checks all of it. Tables
// are WITHOUT ROWID, so that every key in a tree belongs to a row and is checked with it.

#include <filesystem>

#include "knowledge/sqlite_impl.h"

namespace detol::inline knowledge {

// The versions of the schema:
//   1   the id of the database was the upper half of the writer's token
//   2   the id is a column of its own
constexpr int kSchemaVersion = 2;           // PRAGMA user_version
constexpr int kApplicationId = 0x64746f6c;  // PRAGMA application_id: "dtol"

// Checks an existing file by its first bytes, without changing anything. Errors (kStorage):
// not a database, another program's, truncated, newer schema. An older one is accepted.
Result<void> check_header(const std::filesystem::path& path);

// Checks a version. Errors (kStorage): it is not from 1 to kSchemaVersion, with what to do.
Result<void> check_version(const std::filesystem::path& path, std::int64_t version);

// Returns the version, log included: the file's header may be older than a migration. Errors: as
// check_version.
Result<int> schema_version(sqlite3* database);

// Creates an empty database at `path`, whole or not at all. Errors (kStorage).
Result<void> create_database(const std::filesystem::path& path);

// Creates the table `writer`. REQUIRES: there is none.
Result<void> define_writer(sqlite3* database);

// Compares the stored definitions with those of the database's version. Errors (kStorage): they
// differ, or it is newer.
Result<void> check_definitions(sqlite3* database);

}  // namespace detol::inline knowledge
