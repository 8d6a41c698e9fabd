#include "knowledge/backup.h"

#include <fmt/format.h>

#include <system_error>

#include <sqlite3.h>

#include "core/durable_file.h"
#include "core/fault.h"
#include "knowledge/backup_impl.h"
#include "knowledge/check.h"
#include "knowledge/schema_impl.h"
#include "knowledge/storage/file_system.h"
#include "knowledge/storage/page_checksums.h"

namespace detol::inline knowledge {
namespace {

namespace fs = std::filesystem;

struct FinishBackup {
  void operator()(sqlite3_backup* backup) const { sqlite3_backup_finish(backup); }
};

// Copies in one step: a reader of the log sees one moment and blocks no writer.
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

// Switches the copy to a rollback journal: its copied header still names a write-ahead log.
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

void remove_database(const fs::path& file) {
  std::error_code ignored;
  for (const char* tail : {"", "-wal", "-shm", "-journal"})
    fs::remove(file.string() + tail, ignored);
}

Result<void> check_is_other(const fs::path& database, const fs::path& file) {
  std::error_code error;
  if (!fs::equivalent(database, file, error)) return {};
  return fail(ErrorCode::kStorage, fmt::format("{} is the knowledge base itself", file.string()));
}

// Makes a verified copy in a new file beside `file`.
Result<fs::path> verified_copy(sqlite3* source, const fs::path& file) {
  DETOL_ASSIGN(fs::path fresh,
               create_beside(file).map([](const FreshFile& empty) { return empty.path; }));
  auto done = copy_pages(source, fresh);
  if (done) done = drop_log(fresh);
  if (done) done = verify_copy(fresh);
  if (done) return fresh;
  remove_database(fresh);
  return tl::unexpected(std::move(done).error());
}

fs::path numbered(const fs::path& file, std::int64_t number) {
  return number == 0 ? file : fs::path(fmt::format("{}.{}", file.string(), number));
}

// Renames file.1 to file.2, then file to file.1, as far as they exist.
Result<void> shift(const fs::path& file, std::int64_t keep) {
  std::error_code error;
  std::int64_t last = 0;
  while (last + 1 < keep && fs::exists(numbered(file, last), error)) ++last;
  for (; last > 0; --last) {
    const fs::path from = numbered(file, last - 1);
    DETOL_TRY(check_is_database(from));
    DETOL_TRY(rename_durably(from, numbered(file, last)));
  }
  return {};
}

}  // namespace

Result<void> check_is_database(const fs::path& file) {
  std::error_code error;
  if (!fs::exists(fs::symlink_status(file, error))) return {};
  if (fs::is_regular_file(file, error) && check_header(file)) return {};
  return fail(ErrorCode::kStorage, fmt::format("{} is in the way: it is no knowledge base; move it "
                                               "away, or name another file",
                                               file.string()));
}

Result<ReadableDatabase> open_for_copying(const fs::path& path) {
  DETOL_ASSIGN(auto database, open_for_reading(path));
  sqlite::skip_verification(database.unverified());
  return database;
}

Result<void> copy_database(sqlite3* source, const fs::path& file) {
  DETOL_ASSIGN(const fs::path fresh, verified_copy(source, file));
  auto renamed = rename_durably(fresh, file);
  if (!renamed) remove_database(fresh);
  return renamed;
}

fs::path default_backup(const fs::path& database) {
  return real_path(database).string() + ".backup";
}

// A backup that was killed between its two renames leaves file.1 as the newest.
std::optional<fs::path> last_backup(const fs::path& database) {
  std::error_code error;
  for (std::int64_t number = 0; number < 2; ++number) {
    fs::path file = numbered(default_backup(database), number);
    if (fs::exists(file, error)) return file;
  }
  return std::nullopt;
}

Result<void> back_up(const fs::path& database, const fs::path& file, bool may_replace) {
  DETOL_ASSIGN(const auto source, open_for_copying(database));
  DETOL_TRY(check_is_other(database, file));
  std::error_code error;
  if (fs::exists(file, error) && !may_replace) {
    return fail(ErrorCode::kStorage, fmt::format("{} exists; --force replaces it", file.string()));
  }
  return copy_database(source.unverified(), file);
}

Result<void> back_up_rotating(const fs::path& database, const fs::path& file, std::int64_t keep) {
  DETOL_ASSIGN(const auto source, open_for_copying(database));
  DETOL_TRY(check_is_other(database, file));
  DETOL_TRY(check_is_database(file));
  DETOL_ASSIGN(const fs::path fresh, verified_copy(source.unverified(), file));
  auto done = shift(file, keep);
  if (done) done = rename_durably(fresh, file);
  if (!done) remove_database(fresh);
  return done;
}

}  // namespace detol::inline knowledge
