#pragma once

// The database's layout. The table of events is authoritative; the views are computed from it.
//
//   studies   one row per study: its name, configuration and objectives; never changes
//   progress  one row per study: state, budget, accounting, the number of its last event, the
//             count and digest of its rows in events, a summary of its trials
//             (study_summary_impl.h), and its configuration where that has changed
//   events    one row per event, numbered without gaps from 1 within its study; the event
//             itself is JSON, which keeps every double exactly and has a name for NaN. When a
//             trial ends, its reports become one row (reports.h)
//   facts     one row per fact, which is of no study (facts.h)
//   writers   one row per study: the token of the only master that may commit to it
//   identity  one row: the id of the database, which its folder of artefacts has too
//
// A trial's state is not stored: v_trials computes it from its last events by index, so there
// is nothing to update and nothing can contradict it.
//
// Against flipped bits: every page carries a checksum, which is verified when the page is read
// (storage/page_checksums.h), so that a query verifies what it reads, however large the file is.
// What another program wrote has no such checksum; then, and in `detol db check`, all rows are
// verified: every row of studies, progress, events and facts carries a hash of all its columns; the
// numbering of events has no gaps, its end is in progress, and the digest is the sum of the rows'
// hashes; and the text of this schema itself is compared with what this version would create.

#include <filesystem>

#include "knowledge/storage/sqlite.h"

namespace detol::inline knowledge {

// The versions of the schema:
//   1   the id of the database was the upper half of the writer's token
//   2   the id is a column of its own
//   3   pages with checksums, one writer per study, reports in one row, numbers of steps; params
//       and metrics are views of events alone
//   4   a summary of each study's trials; facts
//   5   views show early reports and unreported seconds
//   6   views know which trials keep to the study's constraints
//   7   the speed of a host counts the seconds of early reports
//   8   a trial's value is of its last report that is marked as the best; in older rows all are
//   9   models
//   10  the view of models says why one failed
//   11  models of other networks than their trial's
//   12  from which trial a trial inherits weights
//   13  the configuration in force, where a resume has widened the space
constexpr int kSchemaVersion = 13;      // PRAGMA user_version
constexpr int kFirstWithChecksums = 3;  // of pages
constexpr int kFirstWithDigests = 3;    // of events
constexpr int kFirstWithSummaries = 4;  // of studies
constexpr int kFirstWithFacts = 4;
constexpr int kFirstWithModels = 9;
constexpr int kFirstWithConfigs = 13;       // in progress
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

// Creates the tables, indexes and views of this version. REQUIRES: there are none.
Result<void> define(sqlite3* database);

// Creates the table of progress alone. REQUIRES: there is none.
Result<void> define_progress(sqlite3* database);

// Creates the index of the events of models. REQUIRES: there is none.
Result<void> define_model_index(sqlite3* database);

// Creates the views alone. REQUIRES: there are none, and the tables are those of this version.
Result<void> define_views(sqlite3* database);

// Compares the stored definitions with those of this version. An older database has any. Errors
// (kStorage): they differ, or it is newer.
Result<void> check_definitions(sqlite3* database);

}  // namespace detol::inline knowledge
