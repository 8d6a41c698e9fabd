#include <fmt/format.h>

#include <chrono>
#include <random>
#include <system_error>

#include "core/fault.h"
#include "core/log.h"
#include "knowledge/artefacts_impl.h"
#include "knowledge/file_system_impl.h"
#include "knowledge/folder_intent_impl.h"
#include "knowledge/maintenance_impl.h"
#include "knowledge/migration_impl.h"
#include "knowledge/schema_impl.h"
#include "knowledge/wal_impl.h"
#include "knowledge/writable_database_impl.h"

namespace detol::inline knowledge {
namespace {

namespace fs = std::filesystem;
using sqlite::Statement;

// Returns true if there is a database; an empty file, whose creation was killed, is none.
Result<bool> is_database_there(const fs::path& path) {
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    return fail(ErrorCode::kStorage, fmt::format("{}: the folder {} does not exist; create it, or "
                                                 "pass another --storage",
                                                 path.string(), folder.string()));
  }
  DETOL_TRY(check_files(path));
  DETOL_TRY(check_not_restoring(path));
  if (fs::exists(path, error) && fs::file_size(path, error) > 0) return true;
  // SQLite would take another database's log for the new database's own.
  if (fs::exists(path.string() + "-wal", error)) {
    return fail(ErrorCode::kStorage,
                fmt::format("{0} is missing but its log {0}-wal is there; restore the one or "
                            "move the other away",
                            path.string()));
  }
  return false;
}

// Looks for structural damage, for at most two seconds: the values of a row are verified
// whenever it is read.
Result<void> quick_check(sqlite3* database) {
  using Time = std::chrono::steady_clock::time_point;
  constexpr int kInstructions = 10000;  // between two readings of the clock
  Time deadline = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  const auto is_late = [](void* limit) -> int {
    return std::chrono::steady_clock::now() > *static_cast<Time*>(limit) ? 1 : 0;
  };
  DETOL_ASSIGN(auto check, Statement::prepare(database, "PRAGMA quick_check(1)"));
  sqlite3_progress_handler(database, kInstructions, is_late, &deadline);
  const auto row = check.step();
  const bool was_late = sqlite3_errcode(database) == SQLITE_INTERRUPT;
  sqlite3_progress_handler(database, 0, nullptr, nullptr);
  if (was_late || (row && check.text(0) == "ok")) return {};
  if (!row) return tl::unexpected(row.error());
  return fail(ErrorCode::kStorage,
              fmt::format("{}: {}; the file is damaged: restore a backup",
                          sqlite3_db_filename(database, "main"), check.text(0)));
}

Result<sqlite::Database> open_checked(const fs::path& path) {
  std::error_code error;
  const bool had_log = fs::exists(path.string() + "-wal", error);
  DETOL_ASSIGN(auto database, sqlite::open_for_writing(path));
  auto sound = quick_check(database.get());
  if (sound) sound = check_definitions(database.get());
  if (sound) sound = migrate(path, database.get());
  if (sound) return database;
  // A damaged file and its log stay as they are.
  if (had_log) sqlite3_db_config(database.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  return tl::unexpected(sound.error());
}

// Creates the database, unless another process did so before we had the lock.
Result<void> create_if_missing(const fs::path& path) {
  DETOL_ASSIGN(const bool is_there_now, is_database_there(path));
  if (!is_there_now) DETOL_TRY(create_database(path));
  return check_header(path);
}

// Opened: a database that was opened or created under the lock, not yet changed.
struct Opened {
  sqlite::Database database;
  ArtefactClaim claim;
};

Result<Opened> open_or_create(const fs::path& path, WriterLock& lock) {
  DETOL_TRY(create_if_missing(path));
  DETOL_TRY(lock.hold(path));
  DETOL_TRY(check_wal(path));
  DETOL_ASSIGN(auto database, open_checked(path));
  DETOL_ASSIGN(auto claim, claim_artefacts(path, database.get()));
  return Opened{std::move(database), std::move(claim)};
}

}  // namespace

Result<WritableDatabase> WritableDatabase::open(const fs::path& given) {
  const fs::path path = real_path(given);
  DETOL_ASSIGN(const bool was_there, is_database_there(path));
  DETOL_TRY(was_there ? check_header(path) : check_no_artefacts(path));
  DETOL_ASSIGN(WriterLock lock, WriterLock::acquire(path));
  auto opened = open_or_create(path, lock);
  if (!opened) {
    lock.withdraw();
    return tl::unexpected(std::move(opened).error());
  }
  WritableDatabase writing(std::move(lock), std::move(opened->database));
  DETOL_TRY(writing.take_over(opened->claim.id));
  DETOL_TRY(apply_claim(path, opened->claim));
  DETOL_TRY(recover_intent(path, writing.database()));
  return writing;
}

// Stores a new token, after which any other master's commit fails.
Result<void> WritableDatabase::take_over(DatabaseId id) {
  // A restored backup has no write-ahead log.
  DETOL_TRY(sqlite::run(database_.get(),
                        "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; "
                        "PRAGMA journal_size_limit=16777216"));
  const auto count_pages = [](void* count, sqlite3*, const char*, int pages) {
    *static_cast<int*>(count) = pages;
    return SQLITE_OK;
  };
  sqlite3_wal_hook(database_.get(), count_pages, log_pages_.get());
  DETOL_ASSIGN(read_token_, Statement::prepare(database_.get(), "SELECT token FROM writer"));
  DETOL_ASSIGN(auto take, Statement::prepare(database_.get(),
                                             "INSERT OR REPLACE INTO writer VALUES (1, ?1, ?2)"));
  std::random_device random;
  token_ = static_cast<std::int64_t>(std::uint64_t{random()} << 32 | random());
  take.bind(1, std::int64_t{id});
  take.bind(2, token_);
  return take.run();
}

// Runs `body` in a transaction. Rolls back after an error, unless SQLite did so, as on a full disk.
Result<void> WritableDatabase::in_transaction(const std::function<Result<void>()>& body) {
  if (lost_) return tl::unexpected(*lost_);
  may_retry_ = false;
  auto done = sqlite::run(database_.get(), "BEGIN IMMEDIATE");
  if (done) done = visit("ledger.append", SQLITE_IOERR_WRITE);
  if (done) done = check_token();
  if (done) done = body();
  if (done) done = visit("ledger.commit", SQLITE_IOERR_FSYNC);
  if (done) done = sqlite::run(database_.get(), "COMMIT");
  if (done) done = visit("ledger.committed", SQLITE_OK);
  if (done) checkpoint_log();
  if (done) return {};
  may_retry_ = sqlite::is_write_refused(database_.get());
  if (sqlite::is_sync_failed(database_.get())) lost_ = done.error();
  if (sqlite3_get_autocommit(database_.get()) == 0)
    sqlite3_exec(database_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
  return done;
}

// Moves the log into the file (a checkpoint) when it is long. SQLite would do so itself, but not
// report an fsync that failed; a checkpoint that failed otherwise is tried again.
void WritableDatabase::checkpoint_log() {
  constexpr int kLongLog = 1000;  // pages
  if (*log_pages_ < kLongLog) return;
  if (*log_pages_ < max_log_pages_)
    sqlite3_wal_checkpoint_v2(database_.get(), "main", SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
  else
    truncate_log();
  if (sqlite::is_sync_failed(database_.get())) lost_ = sqlite::failure(database_.get());
}

// Empties the log. Overlapping readers, or one that never ends, prevent SQLite from reusing the log
// from its start, so that it grows. Waiting a moment helps against the former, since new readers
// need no log once it was moved; against the latter a warning asks the user to end it.
void WritableDatabase::truncate_log() {
  constexpr int kMomentMs = 100;
  sqlite3_busy_timeout(database_.get(), kMomentMs);
  const int code = sqlite3_wal_checkpoint_v2(database_.get(), "main", SQLITE_CHECKPOINT_TRUNCATE,
                                             nullptr, nullptr);
  sqlite3_busy_timeout(database_.get(), sqlite::kBusyTimeoutMs);
  if (code == SQLITE_OK) {
    max_log_pages_ = kMaxLogPages;
    return;
  }
  constexpr int kPagesPerMb = 256, kWorryingMb = 64;
  if (*log_pages_ >= kWorryingMb * kPagesPerMb) {
    log_warning(
        "{}: its log has grown to {} MB, as a program does not stop reading; end long queries",
        sqlite3_db_filename(database_.get(), "main"), *log_pages_ / kPagesPerMb);
  }
  max_log_pages_ = *log_pages_ * 2;
}

// Visits a fault site, at which a test may make a write or an fsync fail.
Result<void> WritableDatabase::visit(std::string_view site, int io_error) {
  const Fault met = fault(site);
  if (met == Fault::kNoSpace) return sqlite::fail_with(database_.get(), SQLITE_FULL);
  if (met == Fault::kIoError) return sqlite::fail_with(database_.get(), io_error);
  return {};
}

// Checks that no other master took over. A master that was replaced (its lock file was deleted, or
// a network lost the lock) must not write any more. The lock's file is checked, too, since on a
// network file system this connection may never see another's writes.
Result<void> WritableDatabase::check_token() {
  DETOL_TRY(read_token_.step());
  const bool is_ours = read_token_.integer(0) == token_ && lock_.is_ours();
  read_token_.reset();
  if (is_ours) return {};
  return fail(ErrorCode::kStorage,
              fmt::format("{}: another master took this database over; this one must end",
                          sqlite3_db_filename(database_.get(), "main")));
}

}  // namespace detol::inline knowledge
