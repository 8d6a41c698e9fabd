#include <fmt/format.h>

#include <array>

#include "core/fault.h"
#include "core/log.h"
#include "knowledge/backup_impl.h"
#include "knowledge/migration_impl.h"
#include "knowledge/schema_impl.h"

namespace detol::inline knowledge {
namespace {

namespace fs = std::filesystem;

Result<void> from_1_to_2(sqlite3* database) {
  DETOL_TRY(sqlite::run(database, "ALTER TABLE writer RENAME TO writer_1"));
  DETOL_TRY(define_writer(database));
  return sqlite::run(database,
                     "INSERT INTO writer SELECT id, (token >> 32) & 0xffffffff, token "
                     "FROM writer_1; DROP TABLE writer_1");
}

// The migrations by version; the first leads from 1 to 2.
constexpr std::array kMigrations = {from_1_to_2};
static_assert(kMigrations.size() + 1 == kSchemaVersion);

Result<void> change(sqlite3* database, int version) {
  DETOL_TRY(sqlite::run(database, "PRAGMA synchronous=FULL; BEGIN IMMEDIATE"));
  for (auto i = static_cast<std::size_t>(version) - 1; i < kMigrations.size(); ++i)
    DETOL_TRY(kMigrations[i](database));
  const auto mark = fmt::format("PRAGMA user_version={}", kSchemaVersion);
  DETOL_TRY(sqlite::run(database, mark.c_str()));
  DETOL_TRY(check_definitions(database));
  fault("schema.migrate");
  return sqlite::run(database, "COMMIT");
}

}  // namespace

Result<void> migrate(const fs::path& path, sqlite3* database) {
  DETOL_ASSIGN(const int version, schema_version(database));
  if (version == kSchemaVersion) return {};
  const fs::path backup = fmt::format("{}.v{}.backup", path.string(), version);
  DETOL_TRY(check_is_database(backup));
  DETOL_TRY(copy_database(database, backup));
  if (auto changed = change(database, version); !changed) {
    sqlite3_exec(database, "ROLLBACK", nullptr, nullptr, nullptr);
    return changed;
  }
  log_info("{}: migrated from schema version {} to {}; as it was: {}", path.string(), version,
           kSchemaVersion, backup.string());
  return {};
}

}  // namespace detol::inline knowledge
