#include "knowledge/maintenance.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <array>
#include <string>
#include <system_error>

#include <sqlite3.h>

#include "core/descriptor.h"
#include "core/fault.h"
#include "core/file.h"
#include "knowledge/backup_impl.h"
#include "knowledge/interrupted_impl.h"
#include "knowledge/storage/file_system.h"
#include "knowledge/storage/wal.h"
#include "knowledge/verify_impl.h"
#include "knowledge/writable_database_impl.h"

namespace detol::inline knowledge {
namespace {

namespace fs = std::filesystem;

fs::path with(const fs::path& path, std::string_view tail) {
  return path.string() + std::string(tail);
}

bool is_there(const fs::path& path) {
  std::error_code error;
  return fs::exists(fs::symlink_status(path, error));
}

// The files of a database; its shared memory is rebuilt from its log.
constexpr std::array<std::string_view, 2> kParts = {"", "-wal"};

// Returns `path` + `tail`, with -2, -3, ... appended if moving the files there would replace one.
fs::path free_name(const fs::path& path, std::string_view tail) {
  for (int number = 1;; ++number) {
    fs::path name =
        with(path, number == 1 ? std::string(tail) : fmt::format("{}-{}", tail, number));
    bool is_free = true;
    for (const auto part : kParts)
      is_free = is_free && !(is_there(with(path, part)) && is_there(with(name, part)));
    if (is_free) return name;
  }
}

tl::unexpected<Error> no_database(const fs::path& path) {
  return fail(ErrorCode::kStudy, fmt::format("no study: there is no database at {}; pass another "
                                             "--storage",
                                             path.string()));
}

Result<WriterLock> lock_database(const fs::path& path) {
  DETOL_TRY(check_is_path(path));
  DETOL_TRY(check_files(path));
  DETOL_ASSIGN(WriterLock lock, WriterLock::acquire(path, Access::kExclusive));
  if (is_there(path)) DETOL_TRY(lock.hold(path));
  return lock;
}

Result<void> prepare_restore(const fs::path& path, const fs::path& backup) {
  std::error_code error;
  if (fs::equivalent(path, backup, error))
    return fail(ErrorCode::kStorage,
                fmt::format("{} is the knowledge base itself", backup.string()));
  DETOL_ASSIGN(const auto source, open_for_copying(backup));
  DETOL_TRY(check_is_database(restoring_of(path)));
  return copy_database(source.unverified(), restoring_of(path));
}

Result<std::optional<fs::path>> move_aside(const fs::path& path) {
  const fs::path aside = free_name(path, ".before-restore");
  bool is_anything = false;
  for (const auto part : kParts) {
    if (!is_there(with(path, part))) continue;
    DETOL_TRY(rename_durably(with(path, part), with(aside, part)));
    is_anything = true;
    fault("restore.aside");
  }
  std::error_code ignored;
  fs::remove(with(path, "-shm"), ignored);
  if (is_anything) return aside;
  return std::optional<fs::path>();
}

// Returns true if any process has a SQLite connection open: each locks some of these bytes.
bool is_open(const fs::path& path) {
  const Descriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  struct flock shared {};
  shared.l_type = F_WRLCK;
  shared.l_whence = SEEK_SET;
  shared.l_start = 0x40000000 + 2;
  shared.l_len = 510;
  return file.get() < 0 || ::fcntl(file.get(), F_OFD_GETLK, &shared) != 0 ||
         shared.l_type != F_UNLCK;
}

Result<void> copy_durably(const fs::path& from, const fs::path& to) {
  DETOL_ASSIGN(const std::string bytes, read_file(from));
  return write_file_durably(to, bytes);
}

Result<void> cut(const fs::path& log, std::int64_t bytes) {
  std::error_code error;
  fs::resize_file(log, static_cast<std::uintmax_t>(bytes), error);
  if (!error) return sync_path(log);
  return fail(ErrorCode::kStorage, fmt::format("cannot cut {}: {}", log.string(), error.message()));
}

// Cuts the log to `bytes` and counts the studies and their events. Errors (kStorage): the database
// is not whole then.
Result<std::int64_t> contents_with(const fs::path& path, std::int64_t bytes) {
  DETOL_TRY(cut(wal_of(path), bytes));
  DETOL_ASSIGN(const auto database, sqlite::open_for_writing(path));
  sqlite3_db_config(database.get(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  if (const auto problems = find_problems(database.get()); !problems.empty()) {
    return fail(ErrorCode::kStorage,
                fmt::format("{}: what precedes the damage is not whole ({}); restore a backup",
                            path.string(), problems.front()));
  }
  DETOL_ASSIGN(auto row,
               sqlite::Statement::prepare(database.get(),
                                          "SELECT count(*) + coalesce(sum(p.last_seq), 0) "
                                          "FROM studies s LEFT JOIN progress p ON "
                                          "p.study = s.id"));
  DETOL_TRY(row.step());
  return row.integer(0);
}

// Keeps the log before the damage or nothing of it, whichever is whole and has more in it: a
// checkpoint may have moved more than the former into the file.
Result<void> keep_best(const fs::path& path, std::int64_t sound_bytes) {
  const auto before_damage = contents_with(path, sound_bytes);
  const auto in_file = contents_with(path, 0);
  if (in_file && *in_file >= before_damage.value_or(0)) return {};
  DETOL_TRY(copy_durably(recovering_of(path), wal_of(path)));
  if (before_damage) return cut(wal_of(path), sound_bytes);
  return tl::unexpected(before_damage.error());
}

}  // namespace

Result<std::optional<fs::path>> restore(const fs::path& database, const fs::path& backup) {
  const fs::path path = real_path(database);
  if (!is_there(backup))
    return fail(ErrorCode::kStorage, fmt::format("there is no backup {}", backup.string()));
  DETOL_ASSIGN(const WriterLock lock, lock_database(path));
  DETOL_TRY(prepare_restore(path, backup));
  fault("restore.aside");
  DETOL_ASSIGN(auto aside, move_aside(path));
  DETOL_TRY(rename_durably(restoring_of(path), path));
  return aside;
}

Result<std::optional<fs::path>> recover(const fs::path& database) {
  const fs::path path = real_path(database);
  if (!is_there(path)) return no_database(path);
  DETOL_ASSIGN(const WriterLock lock, lock_database(path));
  if (is_open(path)) {
    return fail(ErrorCode::kStorage,
                fmt::format("{} is open in another program; close that one first", path.string()));
  }
  const fs::path log = wal_of(path), before = recovering_of(path);
  if (is_there(before)) DETOL_TRY(copy_durably(before, log));  // an earlier recover() was killed
  DETOL_ASSIGN(const WalReport report, examine_wal(path));
  if (report.state == WalReport::State::kSound) return std::optional<fs::path>();
  DETOL_TRY(copy_durably(log, before));
  fault("recover.log");
  if (auto kept = keep_best(path, report.sound_bytes); !kept) {
    std::error_code ignored;
    fs::remove(before, ignored);
    return tl::unexpected(std::move(kept).error());
  }
  fault("recover.log");
  const fs::path aside = free_name(log, ".damaged");
  DETOL_TRY(rename_durably(before, aside));
  return aside;
}

Result<Vacuumed> vacuum(const fs::path& database) {
  std::error_code error;
  if (!is_there(database)) return no_database(database);
  DETOL_ASSIGN(const WritableDatabase writing,
               WritableDatabase::open(database, Access::kExclusive));
  if (const auto problems = find_problems(writing.database()); !problems.empty()) {
    return fail(ErrorCode::kStorage, fmt::format("{} is damaged ({}); restore a backup",
                                                 database.string(), problems.front()));
  }
  Vacuumed sizes;
  DETOL_TRY(sqlite::run(writing.database(), "PRAGMA wal_checkpoint(TRUNCATE)"));
  sizes.bytes_before = static_cast<std::int64_t>(fs::file_size(database, error));
  DETOL_TRY(sqlite::run(writing.database(), "VACUUM"));
  DETOL_TRY(sqlite::run(writing.database(), "PRAGMA wal_checkpoint(TRUNCATE)"));
  sizes.bytes_after = static_cast<std::int64_t>(fs::file_size(database, error));
  return sizes;
}

}  // namespace detol::inline knowledge
