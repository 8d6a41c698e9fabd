#include "knowledge/backup.h"

#include <fmt/format.h>

#include <system_error>

#include "core/durable_file.h"
#include "core/fault.h"
#include "knowledge/backup_impl.h"
#include "knowledge/check.h"
#include "knowledge/file_system_impl.h"
#include "knowledge/reader_impl.h"

namespace detol {
namespace {

namespace fs = std::filesystem;

struct FinishBackup {
  void operator()(sqlite3_backup* backup) const { sqlite3_backup_finish(backup); }
};

// One step: a log's reader sees one moment and holds no writer up.
Result<void> copy_pages(sqlite3* source, const fs::path& file) {
  DETOL_ASSIGN(const auto copy,
               sqlite::open(file.string(), SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE));
  DETOL_TRY(sqlite::run(copy.get(), "PRAGMA locking_mode=EXCLUSIVE"));
  const std::unique_ptr<sqlite3_backup, FinishBackup> backup(
      sqlite3_backup_init(copy.get(), "main", source, "main"));
  if (backup == nullptr) return tl::unexpected(sqlite::failure(copy.get()));
  fault("backup.write");
  const int code = sqlite3_backup_step(backup.get(), -1);
  if (code != SQLITE_DONE) {
    return fail(ErrorCode::kStorage,
                fmt::format("{} cannot be written: {}", file.string(), sqlite3_errstr(code)));
  }
  return {};
}

// Pages that were copied from a database with a log say that there is one.
Result<void> drop_log(const fs::path& file) {
  DETOL_ASSIGN(const auto copy, sqlite::open(file.string(), SQLITE_OPEN_READWRITE));
  DETOL_TRY(sqlite::run(copy.get(), "PRAGMA locking_mode=EXCLUSIVE"));
  return sqlite::run(copy.get(), "PRAGMA journal_mode=DELETE");
}

Result<void> verify_copy(const fs::path& file) {
  DETOL_ASSIGN(const auto problems, check(file));
  if (problems.empty()) return {};
  return fail(ErrorCode::kStorage, fmt::format("no copy was made: {}", problems.front()));
}

void sweep(const fs::path& file) {
  std::error_code ignored;
  for (const char* tail : {"", "-wal", "-shm", "-journal"})
    fs::remove(file.string() + tail, ignored);
}

}  // namespace

Result<void> copy_database(sqlite3* source, const fs::path& file) {
  DETOL_ASSIGN(const fs::path fresh,
               create_beside(file).map([](const FreshFile& empty) { return empty.path; }));
  auto done = copy_pages(source, fresh);
  if (done) done = drop_log(fresh);
  if (done) done = verify_copy(fresh);
  if (done) done = rename_durably(fresh, file);
  if (!done) sweep(fresh);
  return done;
}

Result<void> back_up(const fs::path& database, const fs::path& file, bool may_replace) {
  DETOL_ASSIGN(const auto source, open_for_reading(database));
  std::error_code error;
  if (fs::equivalent(database, file, error)) {
    return fail(ErrorCode::kStorage, fmt::format("{} is the knowledge base itself", file.string()));
  }
  if (fs::exists(file, error) && !may_replace) {
    return fail(ErrorCode::kStorage, fmt::format("{} exists; --force replaces it", file.string()));
  }
  return copy_database(source.get(), file);
}

}  // namespace detol
