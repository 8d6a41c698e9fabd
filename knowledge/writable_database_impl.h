#pragma once

// WritableDatabase: a writer's connection, its lock, and tokens in the database by which every
// commit to a study proves that no other process took the study over meanwhile.

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "knowledge/artefacts_impl.h"
#include "knowledge/storage/sqlite.h"
#include "knowledge/storage/writer_lock.h"
#include "knowledge/verify_impl.h"

namespace detol::inline knowledge {

class WritableDatabase {
 public:
  // Takes the lock. If nobody has the database open: creates it or examines it, migrates it, claims
  // its folder of artefacts, and completes what a killed rename, copy or deletion of a study left.
  // Else another process did so, and only its definitions are compared. REQUIRES: this process does
  // not have it open already, since closing a file drops all of SQLite's locks on it. Errors
  // (kStorage): as Ledger::open.
  static Result<WritableDatabase> open(const std::filesystem::path& given, Access access);

  // Locks a study, unless it is locked. Errors (kStorage): a live process runs it, the disk.
  Result<void> lock_study(Slot study, const std::string& name);

  // Locks a study that the current transaction creates. Errors (kStorage).
  Result<void> lock_new_study(Slot study, const std::string& name);

  // Unlocks a study whose creation failed, if it was locked.
  void unlock_study(Slot study);

  // Runs `body` in one transaction, which is durable when it returns. Waits for its turn among the
  // processes that commit. Errors (kStorage): another process took the study or the database over;
  // a failure of the disk.
  // REQUIRES: the study is locked, and `body` changes nothing of another one.
  Result<void> in_transaction(Slot study, const std::function<Result<void>()>& body);

  // The same for a new study, or, where the lock is exclusive, for the whole database.
  Result<void> in_transaction(const std::function<Result<void>()>& body) {
    return in_transaction(0, body);
  }

  // See Ledger::may_retry.
  bool may_retry() const { return may_retry_; }

  // Everything that is read, inside a transaction or not, is read by pages().run().
  PageVerification& pages() { return pages_; }
  sqlite3* database() const { return database_.get(); }
  const WriterLock& lock() const { return lock_; }

 private:
  WritableDatabase(WriterLock lock, sqlite::Database database)
      : lock_(std::move(lock)), database_(std::move(database)), pages_(database_.get()) {}

  static Result<WritableDatabase> create_or_repair(const std::filesystem::path& path,
                                                   WriterLock lock);
  static Result<WritableDatabase> join(const std::filesystem::path& path, WriterLock lock);
  Result<void> prepare();
  Result<void> store_id(DatabaseId id);
  Result<void> write_token(Slot study);
  Result<void> commit(Slot study, const std::function<Result<void>()>& body);
  Result<void> check_token(Slot study);
  Result<void> check_place();
  Result<void> visit(std::string_view site, int io_error);
  void checkpoint_log();
  void truncate_log();

  WriterLock lock_;  // outlives the database
  sqlite::Database database_;
  PageVerification pages_;
  sqlite::Statement read_token_;
  std::unordered_map<Slot, std::int64_t> tokens_;              // of the locked studies
  std::unique_ptr<int> log_pages_ = std::make_unique<int>(0);  // SQLite keeps its address
  static constexpr int kMaxLogPages = 1 << 12;                 // 16 MB
  int max_log_pages_ = kMaxLogPages;                           // then the log is truncated
  bool may_retry_ = false;
  // An fsync failed, or the file is gone: nothing may be acknowledged any more.
  std::optional<Error> lost_;
};

}  // namespace detol::inline knowledge
