#pragma once

// WritableDatabase: the connection of the one writer, its lock, and a token in the database by
// which every commit proves that no other master took it over meanwhile.

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "knowledge/artefacts_impl.h"
#include "knowledge/sqlite_impl.h"
#include "knowledge/writer_lock_impl.h"

namespace detol::inline knowledge {

class WritableDatabase {
 public:
  // Takes the lock, creates the database or opens and examines it, claims its folder of
  // artefacts, and completes what a killed rename, copy or deletion of a study left. Errors
  // (kStorage): as Ledger::open.
  static Result<WritableDatabase> open(const std::filesystem::path& given);

  // Runs `body` in one transaction, which is durable when it returns. Errors (kStorage).
  Result<void> in_transaction(const std::function<Result<void>()>& body);

  // See Ledger::may_retry.
  bool may_retry() const { return may_retry_; }

  sqlite3* database() const { return database_.get(); }
  const WriterLock& lock() const { return lock_; }

 private:
  WritableDatabase(WriterLock lock, sqlite::Database database)
      : lock_(std::move(lock)), database_(std::move(database)) {}

  Result<void> take_over(DatabaseId id);
  Result<void> check_token();
  Result<void> visit(std::string_view site, int io_error);
  void checkpoint_log();
  void truncate_log();

  WriterLock lock_;  // outlives the database
  sqlite::Database database_;
  sqlite::Statement read_token_;
  std::int64_t token_ = 0;
  std::unique_ptr<int> log_pages_ = std::make_unique<int>(0);  // SQLite keeps its address
  static constexpr int kMaxLogPages = 1 << 12;                 // 16 MB
  int max_log_pages_ = kMaxLogPages;                           // then the log is truncated
  bool may_retry_ = false;
  std::optional<Error> lost_;  // an fsync failed: nothing may be acknowledged any more
};

}  // namespace detol::inline knowledge
