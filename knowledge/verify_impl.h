#pragma once

// Verifies the row checksums of a whole database, in one pass per table.

#include <string>
#include <vector>

#include "knowledge/sqlite_impl.h"

namespace detol::inline knowledge {

// Verifies all rows. Errors (kStorage): the first damage found. REQUIRES: inside a transaction, so
// that all tables are read at one moment.
Result<void> verify(sqlite3* database);

// Returns the problems of a database, one line each: of SQLite's structure, then of verify().
// REQUIRES: no transaction is open.
std::vector<std::string> find_problems(sqlite3* database);

// Runs `body` in one read transaction, so that it reads the state of one moment.
template <typename Body>
auto in_read_transaction(sqlite3* database, Body body) -> decltype(body()) {
  DETOL_TRY(sqlite::run(database, "BEGIN"));
  auto result = body();
  sqlite3_exec(database, "COMMIT", nullptr, nullptr, nullptr);
  return result;
}

}  // namespace detol::inline knowledge
