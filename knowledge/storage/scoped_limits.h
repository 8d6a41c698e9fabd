#pragma once

// ScopedLimits: while one lives, SQLite's work on a database ends at the limits; 0: no limit. For
// queries of users, and for files of unknown origin, in which a view may have no end.

#include <chrono>
#include <cstdint>

struct sqlite3;

namespace detol::inline knowledge::sqlite {

class ScopedLimits {
 public:
  // `bytes` is memory of SQLite, of all connections of this process.
  ScopedLimits(sqlite3* database, std::int64_t bytes, double seconds);
  ~ScopedLimits();
  ScopedLimits(const ScopedLimits&) = delete;
  ScopedLimits& operator=(const ScopedLimits&) = delete;

 private:
  static int is_late(void* deadline);

  sqlite3* database_;
  std::int64_t bytes_before_;
  std::chrono::steady_clock::time_point deadline_;
};

}  // namespace detol::inline knowledge::sqlite
