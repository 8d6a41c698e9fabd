#pragma once

#include <filesystem>
#include <utility>

#include "knowledge/storage/sqlite.h"
#include "knowledge/verify_impl.h"

namespace detol::inline knowledge {

// ReadableDatabase: a database that was opened for reading. Another program may have written any of
// its pages, the first included, so nothing is read but by read().
class ReadableDatabase {
 public:
  explicit ReadableDatabase(sqlite::Database database)
      : database_(std::move(database)), pages_(database_.get()) {}

  // Runs `body` with the connection in one read transaction, as PageVerification::run does.
  template <typename Body>
  auto read(Body body) -> decltype(body(std::declval<sqlite3*>())) {
    return pages_.run([&] {
      return in_read_transaction(database_.get(), [&] { return body(database_.get()); });
    });
  }

  // Returns the connection, for those who verify all rows by themselves.
  sqlite3* unverified() const { return database_.get(); }

 private:
  sqlite::Database database_;
  PageVerification pages_;
};

// Opens a database of this version or an older one, whose views may differ, for reading. On a
// network file system it opens the master's snapshot while a master runs, and logs its age; else
// the file itself, which no other process can open until the connection is closed. Errors: kStudy
// if there is no database, kStorage.
Result<ReadableDatabase> open_for_reading(const std::filesystem::path& path);

}  // namespace detol::inline knowledge
