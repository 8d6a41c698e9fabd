#include <fmt/format.h>

#include <random>
#include <system_error>

#include <sqlite3.h>

#include "core/fault.h"
#include "core/log.h"
#include "knowledge/artefacts_impl.h"
#include "knowledge/folder_intent_impl.h"
#include "knowledge/interrupted_impl.h"
#include "knowledge/migration_impl.h"
#include "knowledge/schema_impl.h"
#include "knowledge/storage/file_system.h"
#include "knowledge/storage/wal.h"
#include "knowledge/writable_database_impl.h"

namespace detol::inline knowledge {
namespace {

namespace fs = std::filesystem;
using sqlite::Statement;

// Returns true if there is a database; an empty file, whose creation was killed, is none.
Result<bool> is_database_there(const fs::path& path) {
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  std::error_code error;
  DETOL_TRY(check_is_path(path));
  if (!fs::is_directory(folder, error)) {
    return fail(ErrorCode::kStorage, fmt::format("{}: the folder {} does not exist; create it, or "
                                                 "pass another --storage",
                                                 path.string(), folder.string()));
  }
  DETOL_TRY(check_files(path));
  DETOL_TRY(check_not_restoring(path));
  if (fs::exists(path, error) && fs::file_size(path, error) > 0) return true;
  // SQLite would take another database's log for the new database's own. Another process may have
  // created the database just now.
  if (fs::exists(path.string() + "-wal", error) && !fs::exists(path, error)) {
    return fail(ErrorCode::kStorage,
                fmt::format("{0} is missing but its log {0}-wal is there; restore the one or "
                            "move the other away",
                            path.string()));
  }
  return false;
}

Result<sqlite::Database> open_checked(const fs::path& path) {
  std::error_code error;
  const bool had_log = fs::exists(path.string() + "-wal", error);
  DETOL_ASSIGN(auto database, sqlite::open_for_writing(path));
  auto sound = PageVerification(database.get()).run([&]() -> Result<void> {
    DETOL_TRY(check_definitions(database.get()));
    return migrate(path, database.get());
  });
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
  DETOL_ASSIGN(auto claim, PageVerification(database.get()).run([&] {
    return claim_artefacts(path, database.get());
  }));
  return Opened{std::move(database), std::move(claim)};
}

}  // namespace

Result<WritableDatabase> WritableDatabase::open(const fs::path& given, Access access) {
  const fs::path path = real_path(given);
  DETOL_ASSIGN(const bool was_there, is_database_there(path));
  auto acceptable = was_there ? check_header(path) : check_no_artefacts(path);
  // Another process may have created both just now.
  if (!acceptable && !was_there && is_database_there(path).value_or(false))
    acceptable = check_header(path);
  DETOL_TRY(acceptable);
  DETOL_ASSIGN(WriterLock lock, WriterLock::acquire(path, access));
  if (lock.is_shared()) return join(path, std::move(lock));
  DETOL_ASSIGN(auto writing, create_or_repair(path, std::move(lock)));
  // Between machines a log cannot be shared.
  if (access == Access::kShared && !is_on_network(path)) DETOL_TRY(writing.lock_.share());
  return writing;
}

Result<WritableDatabase> WritableDatabase::create_or_repair(const fs::path& path, WriterLock lock) {
  auto opened = open_or_create(path, lock);
  if (!opened) {
    lock.withdraw();
    return tl::unexpected(std::move(opened).error());
  }
  WritableDatabase writing(std::move(lock), std::move(opened->database));
  DETOL_TRY(writing.pages_.run([&] { return writing.prepare(); }));
  DETOL_TRY(writing.pages_.run([&] { return writing.store_id(opened->claim.id); }));
  DETOL_TRY(apply_claim(path, opened->claim));
  DETOL_TRY(recover_intent(path, writing.pages_));
  return writing;
}

// Opens a database that another process has opened, and so examined and migrated.
Result<WritableDatabase> WritableDatabase::join(const fs::path& path, WriterLock lock) {
  DETOL_TRY(check_header(path));
  DETOL_TRY(lock.hold(path));
  DETOL_ASSIGN(auto database, sqlite::open_for_writing(path));
  WritableDatabase writing(std::move(lock), std::move(database));
  PageVerification& pages = writing.pages_;
  DETOL_ASSIGN(const int version, pages.run([&] { return schema_version(writing.database()); }));
  if (version != kSchemaVersion) {
    return fail(ErrorCode::kStorage,
                fmt::format("{}: its schema is version {}, and another process has it open; stop "
                            "that search first",
                            path.string(), version));
  }
  DETOL_TRY(pages.run([&] { return check_definitions(writing.database()); }));
  DETOL_TRY(pages.run([&] { return writing.prepare(); }));
  return writing;
}

Result<void> WritableDatabase::prepare() {
  // A restored backup has no write-ahead log. The cache, 64 MB at most, holds the rows of the
  // reports of a thousand trials that run, which SQLite's 2 MB do not.
  DETOL_TRY(sqlite::run(database_.get(),
                        "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; "
                        "PRAGMA journal_size_limit=16777216; PRAGMA cache_size=-65536"));
  const auto count_pages = [](void* count, sqlite3*, const char*, int pages) {
    *static_cast<int*>(count) = pages;
    return SQLITE_OK;
  };
  sqlite3_wal_hook(database_.get(), count_pages, log_pages_.get());
  DETOL_ASSIGN(read_token_,
               Statement::prepare(database_.get(), "SELECT token FROM writers WHERE study = ?1"));
  return {};
}

Result<void> WritableDatabase::store_id(DatabaseId id) {
  DETOL_ASSIGN(auto store,
               Statement::prepare(database_.get(),
                                  "INSERT INTO identity VALUES (1, ?1) ON CONFLICT (id) DO UPDATE "
                                  "SET database = ?1 WHERE database <> ?1"));
  store.bind(1, std::int64_t{id});
  return store.run();
}

// Stores a new token, after which a commit to the study fails in any other process.
Result<void> WritableDatabase::write_token(Slot study) {
  DETOL_ASSIGN(auto write, Statement::prepare(database_.get(),
                                              "INSERT OR REPLACE INTO writers VALUES (?1, ?2)"));
  std::random_device random;
  const auto token = static_cast<std::int64_t>(std::uint64_t{random()} << 32 | random());
  write.bind(1, study);
  write.bind(2, token);
  DETOL_TRY(write.run());
  tokens_.insert_or_assign(study, token);
  return {};
}

Result<void> WritableDatabase::lock_study(Slot study, const std::string& name) {
  if (tokens_.contains(study)) return {};
  DETOL_TRY(lock_.lock_study(study, name));
  const auto turn = lock_.wait_for_turn();
  auto done = turn ? write_token(study) : tl::unexpected(turn.error());
  if (!done) lock_.unlock_study(study);
  return done;
}

Result<void> WritableDatabase::lock_new_study(Slot study, const std::string& name) {
  DETOL_TRY(lock_.lock_study(study, name));
  auto done = write_token(study);
  if (!done) lock_.unlock_study(study);
  return done;
}

void WritableDatabase::unlock_study(Slot study) {
  if (tokens_.erase(study) > 0) lock_.unlock_study(study);
}

Result<void> WritableDatabase::in_transaction(Slot study,
                                              const std::function<Result<void>()>& body) {
  if (lost_) return tl::unexpected(*lost_);
  may_retry_ = false;
  bool is_log_short = false;
  {
    const auto turn = lock_.wait_for_turn();
    may_retry_ = !turn;
    if (!turn) return tl::unexpected(turn.error());
    DETOL_TRY(commit(study, body));
    is_log_short = *log_pages_ < max_log_pages_;
    if (!is_log_short) truncate_log();
  }
  if (is_log_short) checkpoint_log();
  return {};
}

// Runs `body` in a transaction. Rolls back after an error, unless SQLite did so, as on a full disk.
Result<void> WritableDatabase::commit(Slot study, const std::function<Result<void>()>& body) {
  auto done = sqlite::run(database_.get(), "BEGIN IMMEDIATE");
  if (done) done = visit("ledger.append", SQLITE_IOERR_WRITE);
  if (done) done = check_token(study);
  if (done) done = body();
  if (done) done = visit("ledger.commit", SQLITE_IOERR_FSYNC);
  if (done) done = sqlite::run(database_.get(), "COMMIT");
  if (done) done = visit("ledger.committed", SQLITE_OK);
  if (done) done = check_place();
  if (done) return {};
  may_retry_ = sqlite::is_write_refused(database_.get());
  if (sqlite::is_sync_failed(database_.get())) lost_ = done.error();
  if (sqlite3_get_autocommit(database_.get()) == 0)
    sqlite3_exec(database_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
  return done;
}

// Moves the log into the file (a checkpoint) when it is long. SQLite would do so itself, but not
// report an fsync that failed; a checkpoint that failed otherwise is tried again. Others may commit
// meanwhile.
void WritableDatabase::checkpoint_log() {
  constexpr int kLongLog = 1000;  // pages
  if (*log_pages_ < kLongLog) return;
  sqlite3_wal_checkpoint_v2(database_.get(), "main", SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
  if (sqlite::is_sync_failed(database_.get())) lost_ = sqlite::failure(database_.get());
}

// Empties the log. Overlapping readers, or one that never ends, prevent SQLite from reusing the log
// from its start, so that it grows. Waiting a moment helps against the former, since new readers
// need no log once it was moved; against the latter a warning asks the user to end it. Nobody may
// commit meanwhile, so it happens within this process's turn.
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
  if (sqlite::is_sync_failed(database_.get())) lost_ = sqlite::failure(database_.get());
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

// Checks that no other process took over. A master that was replaced (its lock file was deleted, or
// a network lost the lock) must not write any more. The lock's file is checked, too, since on a
// network file system this connection may never see another's writes.
Result<void> WritableDatabase::check_token(Slot study) {
  bool is_ours = lock_.is_ours(study);
  if (study != 0) {
    const auto token = tokens_.find(study);
    read_token_.bind(1, study);
    DETOL_ASSIGN(const bool found, read_token_.step());
    is_ours = is_ours && found && token != tokens_.end() && read_token_.integer(0) == token->second;
    read_token_.reset();
  }
  if (is_ours) return {};
  return fail(ErrorCode::kStorage,
              fmt::format("{}: another master took this database over; this one must end",
                          sqlite3_db_filename(database_.get(), "main")));
}

// Checks that the file is where it was opened. What was committed to a deleted one is lost.
Result<void> WritableDatabase::check_place() {
  int has_moved = 0;
  sqlite3_file_control(database_.get(), "main", SQLITE_FCNTL_HAS_MOVED, &has_moved);
  if (has_moved == 0) return {};
  lost_ = Error{ErrorCode::kStorage,
                fmt::format("{} was deleted or replaced while it was open; what was written to it "
                            "since then is lost",
                            sqlite3_db_filename(database_.get(), "main"))};
  return tl::unexpected(*lost_);
}

}  // namespace detol::inline knowledge
