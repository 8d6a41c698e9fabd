#include <fmt/format.h>

#include <sqlite3.h>

#include "core/fault.h"
#include "core/log.h"
#include "knowledge/backup_impl.h"
#include "knowledge/event_writer_impl.h"
#include "knowledge/fact_schema_impl.h"
#include "knowledge/migration_impl.h"
#include "knowledge/rows_impl.h"
#include "knowledge/schema_impl.h"
#include "knowledge/storage/page_checksums.h"

namespace detol::inline knowledge {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kOldEvents = "events_before";

// Returns the id of the database, 0 if it has none yet: in version 1 it was the upper half of the
// token.
Result<std::int64_t> old_id(sqlite3* database, int version) {
  DETOL_ASSIGN(auto id, sqlite::Statement::prepare(
                            database, version == 1 ? "SELECT (token >> 32) & 0xffffffff FROM writer"
                                                   : "SELECT database FROM writer"));
  DETOL_ASSIGN(const bool has_id, id.step());
  return has_id ? id.integer(0) : 0;
}

Result<void> move_study(sqlite3* database, int version, const Study& old) {
  DETOL_ASSIGN(EventWriter writer, EventWriter::make(database));
  DETOL_ASSIGN(const auto events, read_numbered(database, {kOldEvents, version}, old));
  Study study{old.record, old.wall_s, old.device_s};
  DETOL_TRY(writer.create(study));
  for (const NumberedEvent& each : events) DETOL_TRY(writer.add(study, each.event));
  return writer.save(study);
}

// Drops detol's views; one of another program stays, and check_definitions() refuses it.
Result<void> drop_views(sqlite3* database) {
  std::string all;
  {
    DETOL_ASSIGN(auto names, sqlite::Statement::prepare(
                                 database,
                                 "SELECT printf('DROP VIEW \"%w\";', name) FROM sqlite_schema "
                                 "WHERE type = 'view' AND name GLOB 'v_*'"));
    while (true) {
      DETOL_ASSIGN(const bool more, names.step());
      if (!more) break;
      all += names.text(0);
    }
  }
  return sqlite::run(database, all.c_str());
}

// Creates this version's tables and fills them from those of a version before 3, which it drops.
Result<void> rebuild(sqlite3* database, int version) {
  DETOL_ASSIGN(const std::int64_t id, old_id(database, version));
  DETOL_ASSIGN(const auto studies, read_studies(database));
  DETOL_TRY(drop_views(database));
  DETOL_TRY(sqlite::run(database,
                        "DROP TABLE params; DROP TABLE metrics; DROP TABLE writer; "
                        "DROP TABLE studies; DROP TABLE progress; DROP INDEX events_by_trial"));
  DETOL_TRY(
      sqlite::run(database, fmt::format("ALTER TABLE events RENAME TO {}", kOldEvents).c_str()));
  DETOL_TRY(define(database));
  for (const Study& study : studies) DETOL_TRY(move_study(database, version, study));
  if (id != 0) {
    const auto keep = fmt::format("INSERT INTO identity VALUES (1, {})", id);
    DETOL_TRY(sqlite::run(database, keep.c_str()));
  }
  return sqlite::run(database, fmt::format("DROP TABLE {}", kOldEvents).c_str());
}

// Writes the table of progress anew, as this version has it.
Result<void> renew_progress(sqlite3* database, const std::vector<Study>& studies) {
  DETOL_TRY(sqlite::run(database, "DROP TABLE progress"));
  DETOL_TRY(define_progress(database));
  DETOL_ASSIGN(EventWriter writer, EventWriter::make(database));
  for (const Study& study : studies) DETOL_TRY(writer.save(study));
  return {};
}

// Adds what version 3 lacks: the summaries of studies in `progress`, the table of facts, and views.
Result<void> extend(sqlite3* database) {
  DETOL_ASSIGN(auto studies, read_studies(database));
  for (Study& study : studies) {
    DETOL_ASSIGN(auto events, read_numbered(database, study));
    study.summary = summary_of(study.record, without_numbers(std::move(events)));
  }
  DETOL_TRY(drop_views(database));
  DETOL_TRY(define_facts(database));
  DETOL_TRY(define_model_index(database));
  DETOL_TRY(define_views(database));
  return renew_progress(database, studies);
}

// Replaces the views of versions from 4 on, and adds what they lack.
Result<void> renew_views(sqlite3* database, int version) {
  DETOL_ASSIGN(const auto studies, read_studies(database));
  DETOL_TRY(drop_views(database));
  if (version < kFirstWithModels) DETOL_TRY(define_model_index(database));
  DETOL_TRY(define_views(database));
  return renew_progress(database, studies);
}

// Gives every page room for its checksum, which only VACUUM without a write-ahead log can.
Result<void> add_checksums(sqlite3* database) {
  DETOL_TRY(sqlite::run(database, "PRAGMA journal_mode=DELETE"));
  DETOL_TRY(sqlite::reserve_checksums(database));
  return sqlite::run(database, "VACUUM; PRAGMA journal_mode=WAL");
}

Result<void> change(sqlite3* database, int version) {
  DETOL_TRY(sqlite::run(database, "PRAGMA synchronous=FULL"));
  if (version < kFirstWithChecksums) DETOL_TRY(add_checksums(database));
  DETOL_TRY(sqlite::run(database, "BEGIN IMMEDIATE"));
  DETOL_TRY(version < kFirstWithChecksums   ? rebuild(database, version)
            : version < kFirstWithSummaries ? extend(database)
                                            : renew_views(database, version));
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
