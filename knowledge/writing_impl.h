#pragma once

// Writing: a database in the hands of its one writer: the lock, the connection, and a token
// in the database by which every commit proves that no other master took it over meanwhile.

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "knowledge/artefacts_impl.h"
#include "knowledge/sqlite_impl.h"
#include "knowledge/writer_lock_impl.h"

namespace detol {

class Writing {
 public:
  // Takes the lock, creates the database or opens and examines it, claims its folder of
  // artefacts, and completes what a killed rename, copy or deletion of a study left. Errors
  // (kStorage): as Ledger::open.
  static Result<Writing> open(const std::filesystem::path& given);

  // All of `body` or nothing; durable when it returns. Errors (kStorage).
  Result<void> in_transaction(const std::function<Result<void>()>& body);

  // As Ledger::may_retry.
  bool may_retry() const { return may_retry_; }

  sqlite3* database() const { return database_.get(); }
  const WriterLock& lock() const { return lock_; }

 private:
  Writing(WriterLock lock, sqlite::Database database)
      : lock_(std::move(lock)), database_(std::move(database)) {}

  Result<void> take_over(DatabaseId id);
  Result<void> check_token();
  Result<void> visit(std::string_view site, int io_error);
  void move_log();
  void cut_log();

  WriterLock lock_;  // outlives the database
  sqlite::Database database_;
  sqlite::Statement read_token_;
  std::int64_t token_ = 0;
  std::unique_ptr<int> log_pages_ = std::make_unique<int>(0);  // SQLite keeps its address
  static constexpr int kMostLogPages = 1 << 12;                // 16 MB
  int most_log_pages_ = kMostLogPages;                         // then readers are waited for
  bool may_retry_ = false;
  std::optional<Error> lost_;  // an fsync failed: nothing may be acknowledged any more
};

}  // namespace detol
