#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <ctime>
#include <system_error>

#include <sqlite3.h>

#include "core/log.h"
#include "knowledge/interrupted_impl.h"
#include "knowledge/reader_impl.h"
#include "knowledge/schema_impl.h"
#include "knowledge/snapshot_impl.h"
#include "knowledge/storage/file_system.h"
#include "knowledge/storage/page_checksums.h"
#include "knowledge/storage/wal.h"
#include "knowledge/storage/writer.h"

namespace detol::inline knowledge {
namespace {

namespace fs = std::filesystem;

Result<sqlite::Database> open_with(const fs::path& path, std::string_view parameter) {
  std::string uri = "file:";
  for (const char c : fs::absolute(path).string())
    uri += c == '%' || c == '?' || c == '#' ? fmt::format("%{:02x}", c) : std::string(1, c);
  return sqlite::open(fmt::format("{}?{}", uri, parameter), SQLITE_OPEN_READONLY | SQLITE_OPEN_URI);
}

// Opens a file that no process changes, without locks, log and shared memory.
Result<sqlite::Database> open_unchanging(const fs::path& path) {
  return open_with(path, "immutable=1");
}

// Returns true if the file alone is the database.
bool has_no_log(const fs::path& path) {
  std::error_code error;
  const auto size = fs::file_size(path.string() + "-wal", error);
  return error || size == 0;
}

// Reads the first page, which shows whether the database can be opened like this. Whether the page
// matches its checksum is for ReadableDatabase to say.
Result<void> touch(sqlite3* database) {
  auto read = sqlite::run(database, "SELECT 1 FROM sqlite_schema");
  return read || sqlite::is_page_damaged(database) ? Result<void>() : read;
}

// Opens a database with a log that no process changes: the log's index need not be shared, and no
// lock is taken, which would need the permission to write.
Result<sqlite::Database> open_unchanging_log(const fs::path& path) {
  DETOL_ASSIGN(auto database,
               open_with(path, fmt::format("vfs={}", sqlite::kUnlockedPageChecksumVfs)));
  DETOL_TRY(sqlite::run(database.get(), "PRAGMA locking_mode=EXCLUSIVE"));
  DETOL_TRY(touch(database.get()));
  return database;
}

// Opens a database that other processes may have open. SQLite cannot create its shared memory in a
// read-only folder, but does not need it if no process writes.
Result<sqlite::Database> open_beside_others(const fs::path& path) {
  DETOL_ASSIGN(auto database, sqlite::open(path.string(), SQLITE_OPEN_READONLY));
  const auto readable = touch(database.get());
  if (readable) return database;
  // SQLite says "read-only" of a log that it may not create, and "cannot open" of shared memory.
  const int code = sqlite3_errcode(database.get());
  if (code != SQLITE_CANTOPEN && code != SQLITE_READONLY) return tl::unexpected(readable.error());
  if (has_no_log(path)) return open_unchanging(path);
  DETOL_ASSIGN(const auto writer, current_writer(path));
  return writer ? tl::unexpected(readable.error()) : open_unchanging_log(path);
}

Result<sqlite::Database> open_snapshot(const fs::path& path, const std::string& writer) {
  const fs::path snapshot = snapshot_of(path);
  struct stat info {};
  if (::stat(snapshot.c_str(), &info) != 0) {
    return fail(ErrorCode::kStorage,
                fmt::format("{} is on a network file system, where only its writer may open it, "
                            "and {} has left no snapshot yet; try again in a minute",
                            path.string(), writer));
  }
  DETOL_TRY(check_header(snapshot));
  static std::atomic_flag said;  // log once: `status --watch` opens it every second
  if (!said.test_and_set())
    log_info("{}: written by {}; reading its snapshot {}, {} s old", path.string(), writer,
             snapshot.string(), std::max<std::time_t>(0, std::time(nullptr) - info.st_mtime));
  return open_unchanging(snapshot);
}

// Opens the file exclusively, since a log can only then be read without shared memory. The log's
// pages stay in the log.
Result<sqlite::Database> open_alone(const fs::path& path) {
  DETOL_ASSIGN(auto database, sqlite::open(path.string(), SQLITE_OPEN_READWRITE));
  sqlite3_db_config(database.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  DETOL_TRY(sqlite::run(database.get(), "PRAGMA locking_mode=EXCLUSIVE"));
  DETOL_TRY(sqlite::run(database.get(), "PRAGMA query_only=1"));
  auto readable = touch(database.get());
  if (readable) return database;
  if (sqlite3_errcode(database.get()) == SQLITE_BUSY) return open_snapshot(path, "a process");
  if (!has_no_log(path)) return tl::unexpected(readable.error());
  return open_unchanging(path);
}

Result<sqlite::Database> open_on_network(const fs::path& path) {
  DETOL_ASSIGN(const auto writer, current_writer(path));
  if (writer) return open_snapshot(path, to_text(*writer));
  DETOL_TRY(check_header(path));
  DETOL_TRY(check_idle_wal(path));
  if (::access(path.c_str(), W_OK) != 0 && has_no_log(path)) return open_unchanging(path);
  return open_alone(path);
}

Result<sqlite::Database> open_database(const fs::path& path) {
  DETOL_TRY(check_is_path(path));
  DETOL_TRY(check_not_restoring(path));
  std::error_code error;
  if (!fs::exists(path, error)) {
    return fail(ErrorCode::kStudy, fmt::format("no study: there is no database at {}; run `detol "
                                               "search`, or pass another --storage",
                                               path.string()));
  }
  DETOL_TRY(check_files(path));
  if (is_on_network(path)) return open_on_network(path);
  DETOL_TRY(check_header(path));
  DETOL_TRY(check_idle_wal(path));
  return open_beside_others(path);
}

}  // namespace

Result<ReadableDatabase> open_for_reading(const fs::path& path) {
  DETOL_ASSIGN(auto database, open_database(real_path(path)));
  return ReadableDatabase(std::move(database));
}

}  // namespace detol::inline knowledge
