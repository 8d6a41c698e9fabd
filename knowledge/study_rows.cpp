// The rows of studies: what is never changed, with what progresses.

#include <fmt/format.h>

#include <algorithm>

#include <sqlite3.h>

#include "core/table.h"
#include "encodings/study/study_config.h"
#include "knowledge/reports.h"
#include "knowledge/rows_impl.h"
#include "knowledge/schema_impl.h"

namespace detol::inline knowledge {
namespace {

// Returns the columns of `progress p` that later versions have, or what stands for them.
std::string_view later_columns(int version) {
  if (version >= kFirstWithSummaries)
    return "p.event_rows, p.digest, p.trials, p.best_is_known, p.best_trial, p.best";
  return version >= kFirstWithDigests ? "p.event_rows, p.digest, 0, 1, NULL, NULL"
                                      : "0, 0, 0, 1, NULL, NULL";
}

Result<Study> study_from(sqlite3* database, const sqlite::Statement& row, int version) {
  const bool is_typed =
      row.has_types("itttiRitttRRiiiiii?R?");  // before the reads convert the columns
  Study study;
  StudyRecord& record = study.record;
  record.id = row.integer(0);
  record.name = row.text(1);
  record.config = row.text(2);
  const std::string objectives(row.text(3));
  record.data_fingerprint = static_cast<std::uint64_t>(row.integer(4));
  record.created_s = row.real(5);
  const auto state = study_phase_from(row.text(8));
  record.state = state.value_or(StudyPhase::kRunning);
  record.budget = row.text(9);
  study.wall_s = row.real(10);
  study.device_s = row.real(11);
  study.last_seq = row.integer(12);
  study.event_rows = row.integer(14);
  study.digest = static_cast<std::uint64_t>(row.integer(15));
  study.summary.trials = row.integer(16);
  study.summary.is_best_known = row.integer(17) != 0;
  if (row.type(18) != SQLITE_NULL)
    study.summary.best = BestTrial{static_cast<TrialId>(row.integer(18)), row.real(19)};
  if (auto parsed = objectives_from(objectives)) record.objectives = std::move(*parsed);
  if (row.type(20) != SQLITE_NULL) {
    record.begun_with = std::move(record.config);
    record.config = row.text(20);
  }
  const bool is_whole = is_typed && state && row.text(7) == first_metric(record) &&
                        checksum(record) == static_cast<std::uint64_t>(row.integer(6)) &&
                        checksum(study, version) == static_cast<std::uint64_t>(row.integer(13));
  if (!is_whole)
    return tl::unexpected(damaged(database, fmt::format("the row of study {}", record.id)));
  if (is_study_name(record.name)) return study;  // it becomes the name of a folder
  return fail(
      ErrorCode::kStorage,
      fmt::format("{}: study {} is called {}, which detol lets no study be; another program "
                  "wrote that: restore a backup",
                  sqlite3_db_filename(database, "main"), record.id, in_quotes(record.name)));
}

// Returns the studies that `where`, an SQL condition on `studies s` and ?1, selects.
Result<std::vector<Study>> select_studies(sqlite3* database, std::string_view where,
                                          std::string_view argument) {
  DETOL_ASSIGN(const int version, schema_version(database));
  const std::string sql = fmt::format(
      "SELECT s.id, s.name, s.config, s.objectives, s.data_fingerprint, s.created, s.checksum, "
      "s.metric, p.state, p.budget, p.wall_seconds, p.device_seconds, p.last_seq, p.checksum, {}, "
      "{} "
      "FROM studies s LEFT JOIN progress p ON p.study = s.id WHERE {} ORDER BY s.id",
      later_columns(version), version >= kFirstWithConfigs ? "p.config" : "NULL", where);
  DETOL_ASSIGN(auto rows, sqlite::Statement::prepare(database, sql));
  rows.bind(1, argument);
  std::vector<Study> studies;
  while (true) {
    DETOL_ASSIGN(const bool more, rows.step());
    if (!more) return studies;
    DETOL_ASSIGN(Study study, study_from(database, rows, version));
    studies.push_back(std::move(study));
  }
}

}  // namespace

Result<std::vector<Study>> read_studies(sqlite3* database) {
  return select_studies(database, "?1 = ''", "");
}

Result<std::optional<Study>> study_named(sqlite3* database, const std::string& name) {
  DETOL_ASSIGN(auto named, select_studies(database, "s.name = ?1", name));
  if (named.empty()) return std::optional<Study>();
  return std::move(named.front());
}

Result<Study> find_study(sqlite3* database, StudyId id) {
  DETOL_ASSIGN(auto numbered,
               select_studies(database, "s.id = CAST(?1 AS INTEGER)", std::to_string(id)));
  if (!numbered.empty()) return std::move(numbered.front());
  return fail(ErrorCode::kStudy, fmt::format("no study has the number {}", id));
}

Result<StudyId> next_study_id(sqlite3* database) {
  DETOL_ASSIGN(auto last, sqlite::Statement::prepare(database, "SELECT max(id) FROM studies"));
  DETOL_TRY(last.step());
  return last.integer(0) + 1;
}

Result<Study> find_study(sqlite3* database, const std::string& name) {
  DETOL_ASSIGN(auto named, study_named(database, name));
  if (named) return *std::move(named);
  DETOL_ASSIGN(const auto studies, read_studies(database));
  std::vector<std::string_view> names;
  for (const Study& study : studies) names.push_back(study.record.name);
  if (names.empty()) {
    return fail(ErrorCode::kStudy,
                fmt::format("no study '{}': {} holds none yet; `detol search` makes one", name,
                            sqlite3_db_filename(database, "main")));
  }
  return fail(ErrorCode::kStudy, unknown_name("study", name, names));
}

}  // namespace detol::inline knowledge
