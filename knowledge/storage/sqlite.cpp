#include "knowledge/storage/sqlite.h"

#include <fmt/format.h>

#include <limits>
#include <system_error>

#include <sqlite3.h>

#include "knowledge/storage/file_system.h"
#include "knowledge/storage/page_checksums.h"

namespace detol::inline knowledge::sqlite {
namespace {

std::string_view remedy(sqlite3* database) {
  if (is_write_refused(database))
    return "nothing was kept: is the disk full, over quota or read-only? make room and resume";
  if (is_sync_failed(database)) return "the disk is failing: end this process and resume";
  switch (sqlite3_errcode(database)) {
    case SQLITE_CORRUPT:
      return "the file is damaged: restore a backup, or pass another --storage";
    case SQLITE_NOTADB:
      return "this is not a detol database: pass another --storage";
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return "another program holds it: close that one and try again";
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_CANTOPEN:
    case SQLITE_AUTH:
      return "check that the file and its folder exist and may be written";
    case SQLITE_NOMEM:
    case SQLITE_TOOBIG:
      return "give the program more memory, or ask for less";
    case SQLITE_INTERRUPT:
      return "it would take too long";
    default:
      return "check the disk, then try again";
  }
}

}  // namespace

bool is_write_refused(sqlite3* database) {
  switch (sqlite3_extended_errcode(database)) {
    case SQLITE_FULL:
    case SQLITE_IOERR_WRITE:    // SQLite calls only ENOSPC full, not a quota or a limit
    case SQLITE_IOERR_SHMSIZE:  // the shared index of the log could not grow
    case SQLITE_IOERR_SHMMAP:
      return true;
    default:
      return false;
  }
}

bool is_sync_failed(sqlite3* database) {
  const int code = sqlite3_extended_errcode(database);
  return code == SQLITE_IOERR_FSYNC || code == SQLITE_IOERR_DIR_FSYNC;
}

Error failure(sqlite3* database) {
  const char* name = sqlite3_db_filename(database, "main");
  if (is_page_damaged(database)) {
    return {ErrorCode::kStorage,
            fmt::format("{}: page {} is damaged; restore a backup, or pass another --storage",
                        name != nullptr ? name : "database", damaged_page(database))};
  }
  return {ErrorCode::kStorage, fmt::format("{}: {}; {}", name != nullptr ? name : "database",
                                           sqlite3_errmsg(database), remedy(database))};
}

Result<void> fail_with(sqlite3* database, int code) {
  const auto refuse = [](sqlite3_context* context, int, sqlite3_value** values) {
    sqlite3_result_error_code(context, sqlite3_value_int(values[0]));
  };
  sqlite3_create_function_v2(database, "fail_with", 1, SQLITE_UTF8, nullptr, refuse, nullptr,
                             nullptr, nullptr);
  return run(database, fmt::format("SELECT fail_with({})", code).c_str());
}

Result<Database> open(const std::string& name, int flags) {
  sqlite3* raw = nullptr;
  const int code =
      sqlite3_open_v2(name.c_str(), &raw, flags | SQLITE_OPEN_NOMUTEX, page_checksum_vfs());
  Database database(raw);
  if (code != SQLITE_OK) {
    constexpr std::size_t kLongestPath = 504;  // SQLite's 512 with the "-journal" behind it
    std::error_code ignored;
    const std::size_t bytes = std::filesystem::absolute(name, ignored).string().size();
    if (bytes > kLongestPath)
      return fail(
          ErrorCode::kStorage,
          fmt::format("{}: its whole path has {} bytes, and SQLite takes at most {}; pass a "
                      "shorter --storage",
                      name, bytes, kLongestPath));
    return fail(ErrorCode::kStorage,
                fmt::format("{}: {}; check that the file and its folder exist and may be read",
                            name, raw != nullptr ? sqlite3_errmsg(raw) : "out of memory"));
  }
  sqlite3_extended_result_codes(raw, 0);
  sqlite3_busy_timeout(raw, kBusyTimeoutMs);
  return database;
}

Result<Database> open_for_writing(const std::filesystem::path& path) {
  DETOL_ASSIGN(auto database, open(path.string(), SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE));
  if (is_on_network(path)) DETOL_TRY(run(database.get(), "PRAGMA locking_mode=EXCLUSIVE"));
  return database;
}

Result<void> run(sqlite3* database, const char* sql) {
  if (sqlite3_exec(database, sql, nullptr, nullptr, nullptr) != SQLITE_OK)
    return tl::unexpected(failure(database));
  return {};
}

Result<Statement> Statement::prepare(sqlite3* database, std::string_view sql, const char** rest) {
  sqlite3_stmt* raw = nullptr;
  if (sqlite3_prepare_v3(database, sql.data(), static_cast<int>(sql.size()),
                         SQLITE_PREPARE_PERSISTENT, &raw, rest) != SQLITE_OK) {
    return tl::unexpected(failure(database));
  }
  Statement statement;
  statement.statement_.reset(raw);
  return statement;
}

void CloseDatabase::operator()(sqlite3* database) const {
  sqlite3_close_v2(database);
}

void FinalizeStatement::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

void Statement::bind(int index, std::int64_t value) {
  sqlite3_bind_int64(raw(), index, value);
}

void Statement::bind(int index, double value) {
  sqlite3_bind_double(raw(), index, value);
}

void Statement::bind_null(int index) {
  sqlite3_bind_null(raw(), index);
}

void Statement::bind(int index, std::string_view value) {
  // An empty view may have no address at all, which SQLite would store as NULL.
  const char* bytes = value.data() != nullptr ? value.data() : "";
  sqlite3_bind_text64(raw(), index, bytes, value.size(), SQLITE_STATIC, SQLITE_UTF8);
}

Result<bool> Statement::step() {
  const int code = sqlite3_step(raw());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return tl::unexpected(failure(sqlite3_db_handle(raw())));
}

Result<void> Statement::run() {
  auto more = step();
  while (more && *more) more = step();
  reset();
  if (!more) return tl::unexpected(std::move(more).error());
  return {};
}

void Statement::reset() {
  sqlite3_reset(raw());
}

int Statement::type(int column) const {
  return sqlite3_column_type(raw(), column);
}

std::int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(raw(), column);
}

double Statement::real(int column) const {
  if (type(column) == SQLITE_NULL) return std::numeric_limits<double>::quiet_NaN();
  return sqlite3_column_double(raw(), column);
}

std::string_view Statement::text(int column) const {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(raw(), column));
  if (bytes == nullptr) return {};
  return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(raw(), column))};
}

bool Statement::has_types(std::string_view types) const {
  for (std::size_t i = 0; i < types.size(); ++i) {
    const int found = type(static_cast<int>(i));
    const bool fits = (types[i] == 'i' && found == SQLITE_INTEGER) ||
                      (types[i] == 't' && found == SQLITE_TEXT) ||
                      ((types[i] == 'r' || types[i] == 'R') && found == SQLITE_FLOAT) ||
                      (types[i] == 'R' && found == SQLITE_NULL) || types[i] == '?';
    if (!fits) return false;
  }
  return true;
}

}  // namespace detol::inline knowledge::sqlite
