#pragma once

// Verifies the row checksums of a whole database. Needed where pages have no sound checksum
// (storage/page_checksums.h): because another program wrote them, or because they are damaged.

#include <optional>
#include <string>
#include <vector>

#include <sqlite3.h>

#include "knowledge/storage/page_checksums.h"
#include "knowledge/storage/sqlite.h"

namespace detol::inline knowledge {

// Verifies all rows. Errors (kStorage): the first damage found. REQUIRES: inside a transaction, so
// that all tables are read at one moment.
Result<void> verify(sqlite3* database);

// Returns the problems of a database, one line each: of SQLite's structure, then of verify(). The
// connection does not verify checksums of pages any more: damage that is in no row and no index is
// none. REQUIRES: no transaction is open.
std::vector<std::string> find_problems(sqlite3* database);

// Runs `body` in one read transaction, so that it reads the state of one moment.
template <typename Body>
auto in_read_transaction(sqlite3* database, Body body) -> decltype(body()) {
  DETOL_TRY(sqlite::run(database, "BEGIN"));
  auto result = body();
  sqlite3_exec(database, "COMMIT", nullptr, nullptr, nullptr);
  return result;
}

// PageVerification: what a connection does about a page without a sound checksum. It verifies
// structure and rows of the whole database, and then reads pages without verifying them. If the
// database is damaged, it reads nothing any more: SQLite may keep the damaged page in its cache.
class PageVerification {
 public:
  explicit PageVerification(sqlite3* database) : database_(database) {}

  // Runs `work`, and once more if pages were accepted meanwhile. Errors (kStorage): the database is
  // damaged. REQUIRES: `work` leaves no transaction open.
  template <typename Work>
  auto run(Work work) -> decltype(work()) {
    if (damage_) return tl::unexpected(*damage_);
    auto done = work();
    if (done || sqlite::damaged_page(database_) == 0) return done;
    DETOL_TRY(accept_pages());
    return work();
  }

  sqlite3* database() const { return database_; }

 private:
  Result<void> accept_pages();

  sqlite3* database_;
  std::optional<Error> damage_;
};

}  // namespace detol::inline knowledge
