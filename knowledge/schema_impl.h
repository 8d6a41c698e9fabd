#pragma once

// The database's layout: one table of events is the truth, the rest follows from it.
//
//   studies   one row per study: its name, configuration and objectives; never changes
//   progress  one row per study: state, budget, accounting, the number of its last event
//   events    one row per event, numbered without gaps from 1 within its study; the event
//             itself is JSON, which keeps every double exactly and names NaN
//   params    an Asked's choices, a Reported's metrics again as typed cells, so that SQL sees
//   metrics   exact numbers (SQLite's own reading of JSON numbers may be off by one ulp)
//   writer    one row: who may commit; a master that was replaced finds another's token, whose
//             upper half is the database's id (artefacts_impl.h)
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

namespace detol {

constexpr int kSchemaVersion = 1;           // PRAGMA user_version
constexpr int kApplicationId = 0x64746f6c;  // PRAGMA application_id: "dtol"

// Judges an existing file by its first bytes, without touching anything. Errors (kStorage):
// not a database, another program's, truncated, newer schema.
Result<void> check_header(const std::filesystem::path& path);

// Makes an empty database appear at `path` whole or not at all. Errors (kStorage).
Result<void> create_database(const std::filesystem::path& path);

// Compares the stored definitions with this version's. Errors (kStorage): they differ.
Result<void> check_definitions(sqlite3* database);

}  // namespace detol
