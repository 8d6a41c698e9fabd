#include "knowledge/ledger.h"

#include <fmt/format.h>

#include <chrono>
#include <optional>
#include <random>
#include <system_error>
#include <unordered_map>

#include "core/fault.h"
#include "knowledge/event_writer_impl.h"
#include "knowledge/rows_impl.h"
#include "knowledge/schema_impl.h"
#include "knowledge/sqlite_impl.h"
#include "knowledge/writer_lock_impl.h"

namespace detol {
namespace {

namespace fs = std::filesystem;
using sqlite::Statement;

class SqliteLedger final : public Ledger {
 public:
  SqliteLedger(WriterLock lock, sqlite::Database database)
      : lock_(std::move(lock)), database_(std::move(database)) {}

  Result<void> start();

  Result<StudyId> create_study(const StudyRecord& record) override;
  Result<void> append(StudyId id, std::span<const Event> events) override;
  bool may_retry() const override { return may_retry_; }

  Result<StudyRecord> study(const std::string& name) override {
    DETOL_ASSIGN(Study found, find_study(database_.get(), name));
    return std::move(found.record);
  }
  Result<std::vector<Event>> events(StudyId id) override {
    return read_events(database_.get(), id);
  }

 private:
  template <typename Body>
  Result<void> in_transaction(Body body);
  Result<void> visit(std::string_view site, int io_error);
  Result<void> check_token();
  Result<Study*> load(StudyId id);

  WriterLock lock_;  // outlives the database
  sqlite::Database database_;
  EventWriter writer_;
  Statement read_token_;
  std::int64_t token_ = 0;
  std::unordered_map<StudyId, Study> studies_;  // as committed
  bool may_retry_ = false;
  std::optional<Error> lost_;  // an fsync failed: nothing may be acknowledged any more
};

// Takes the database over: from now on any other master's commit fails.
Result<void> SqliteLedger::start() {
  DETOL_TRY(sqlite::run(database_.get(), "PRAGMA synchronous=FULL"));
  DETOL_ASSIGN(writer_, EventWriter::make(database_.get()));
  DETOL_ASSIGN(read_token_, Statement::prepare(database_.get(), "SELECT token FROM writer"));
  DETOL_ASSIGN(auto take,
               Statement::prepare(database_.get(), "INSERT OR REPLACE INTO writer VALUES (1, ?1)"));
  token_ = static_cast<std::int64_t>(std::random_device{}()) << 32 | std::random_device{}();
  take.bind(1, token_);
  return take.run();
}

// All of `body` or nothing. On a full disk SQLite may have rolled back by itself.
template <typename Body>
Result<void> SqliteLedger::in_transaction(Body body) {
  if (lost_) return tl::unexpected(*lost_);
  may_retry_ = false;
  auto done = sqlite::run(database_.get(), "BEGIN IMMEDIATE");
  if (done) done = visit("ledger.append", SQLITE_IOERR_WRITE);
  if (done) done = check_token();
  if (done) done = body();
  if (done) done = visit("ledger.commit", SQLITE_IOERR_FSYNC);
  if (done) done = sqlite::run(database_.get(), "COMMIT");
  if (done) done = visit("ledger.committed", SQLITE_OK);
  if (done) return {};
  may_retry_ = sqlite::is_write_refused(database_.get());
  if (sqlite::is_sync_failed(database_.get())) lost_ = done.error();
  if (sqlite3_get_autocommit(database_.get()) == 0)
    sqlite3_exec(database_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
  return done;
}

// A place where a test may let the disk refuse.
Result<void> SqliteLedger::visit(std::string_view site, int io_error) {
  const Fault met = fault(site);
  if (met == Fault::kNoSpace) return sqlite::fail_with(database_.get(), SQLITE_FULL);
  if (met == Fault::kIoError) return sqlite::fail_with(database_.get(), io_error);
  return {};
}

// A master that was replaced (its lock file was deleted, or a network lost the lock) must not
// add to what its successor writes.
Result<void> SqliteLedger::check_token() {
  DETOL_TRY(read_token_.step());
  const bool is_ours = read_token_.integer(0) == token_;
  read_token_.reset();
  if (is_ours) return {};
  return fail(ErrorCode::kStorage,
              fmt::format("{}: another master took this database over; this one must end",
                          sqlite3_db_filename(database_.get(), "main")));
}

Result<StudyId> SqliteLedger::create_study(const StudyRecord& record) {
  DETOL_ASSIGN(const auto known, read_studies(database_.get()));
  for (const Study& other : known) {
    if (other.record.name != record.name) continue;
    return fail(ErrorCode::kStudy,
                fmt::format("study '{0}' exists; `detol resume {0}` goes on with it", record.name));
  }
  Study study{record, 0, 0, 0};
  study.record.id = known.empty() ? 1 : known.back().record.id + 1;
  DETOL_TRY(in_transaction([&] { return writer_.create(study); }));
  const StudyId id = study.record.id;
  studies_.insert_or_assign(id, std::move(study));
  return id;
}

Result<void> SqliteLedger::append(StudyId id, std::span<const Event> events) {
  DETOL_ASSIGN(Study* const committed, load(id));
  Study study = *committed;
  auto done = in_transaction([&]() -> Result<void> {
    for (const Event& event : events) DETOL_TRY(writer_.add(study, event));
    return writer_.save(study);
  });
  if (!done) return done;
  *committed = std::move(study);
  return {};
}

Result<Study*> SqliteLedger::load(StudyId id) {
  if (const auto known = studies_.find(id); known != studies_.end()) return &known->second;
  DETOL_ASSIGN(auto studies, read_studies(database_.get()));
  for (Study& study : studies) studies_.try_emplace(study.record.id, std::move(study));
  if (const auto known = studies_.find(id); known != studies_.end()) return &known->second;
  return fail(ErrorCode::kStudy, fmt::format("no study has the number {}", id));
}

// True if there is a database to judge; an empty file is one whose creation was killed.
Result<bool> is_there(const fs::path& path) {
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  std::error_code error;
  if (!fs::is_directory(folder, error)) {
    return fail(ErrorCode::kStorage, fmt::format("{}: the folder {} does not exist; create it, or "
                                                 "pass another --storage",
                                                 path.string(), folder.string()));
  }
  const auto size = fs::is_regular_file(path, error) ? fs::file_size(path, error) : 0;
  if (size > 0) return true;
  if (fs::exists(path, error) && !fs::is_regular_file(path, error))
    return fail(ErrorCode::kStorage, path.string() + ": not a file; pass another --storage");
  // SQLite would take a stranger's log for the new database's own.
  if (fs::exists(path.string() + "-wal", error)) {
    return fail(ErrorCode::kStorage,
                fmt::format("{0} is missing but its log {0}-wal is there; restore the one or "
                            "move the other away",
                            path.string()));
  }
  return false;
}

// Looks for structural damage, but no longer than two seconds: what a row says is verified
// whenever it is read.
Result<void> quick_check(sqlite3* database) {
  using Time = std::chrono::steady_clock::time_point;
  constexpr int kInstructions = 10000;  // between two looks at the clock
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
  if (sound) return database;
  // A damaged file and its log stay as they are.
  if (had_log) sqlite3_db_config(database.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  return tl::unexpected(sound.error());
}

Result<sqlite::Database> open_or_create(const fs::path& path) {
  // Another process may have created it before we had the lock.
  DETOL_ASSIGN(const bool is_there_now, is_there(path));
  if (!is_there_now) DETOL_TRY(create_database(path));
  DETOL_TRY(check_header(path));
  return open_checked(path);
}

}  // namespace

Result<std::unique_ptr<Ledger>> Ledger::open(const fs::path& path) {
  DETOL_ASSIGN(const bool was_there, is_there(path));
  if (was_there) DETOL_TRY(check_header(path));
  DETOL_ASSIGN(WriterLock lock, WriterLock::acquire(path));
  auto database = open_or_create(path);
  if (!database) {
    lock.withdraw();
    return tl::unexpected(std::move(database).error());
  }
  auto ledger = std::make_unique<SqliteLedger>(std::move(lock), std::move(*database));
  DETOL_TRY(ledger->start());
  return ledger;
}

}  // namespace detol
