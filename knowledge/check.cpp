#include "knowledge/check.h"

#include <fmt/format.h>

#include <algorithm>

#include "knowledge/reader_impl.h"
#include "knowledge/rows_impl.h"
#include "knowledge/schema_impl.h"
#include "knowledge/verify_impl.h"
#include "knowledge/wal_impl.h"

namespace detol::inline knowledge {
namespace {

using sqlite::Statement;

// Sums of row hashes: of the rows that the events imply, or of the stored rows. A sum does not
// depend on the order of the rows.
struct Sums {
  std::uint64_t cells = 0;  // rows of params and metrics
  std::uint64_t index = 0;  // entries of events_by_trial
};

Value value_in(const Statement& row, int column) {
  switch (row.type(column)) {
    case SQLITE_INTEGER:
      return row.integer(column);
    case SQLITE_TEXT:
      return std::string(row.text(column));
    default:
      return row.real(column);
  }
}

constexpr const char* kCells = "a row of params or metrics";
constexpr const char* kIndex = "an entry of the index events_by_trial";

struct Scan {
  const char* sql;
  std::string_view types;
  const char* what;
};

template <typename Hash>
Result<std::uint64_t> sum(sqlite3* database, const Scan& scan, Hash hash) {
  DETOL_ASSIGN(auto rows, Statement::prepare(database, scan.sql));
  std::uint64_t total = 0;
  while (true) {
    DETOL_ASSIGN(const bool more, rows.step());
    if (!more) return total;
    if (!rows.has_types(scan.types)) return tl::unexpected(damaged(database, scan.what));
    total += hash(rows);
  }
}

// Hashes an entry of events_by_trial, which has all of an event's keys and nothing else.
std::uint64_t index_hash(StoredEvent event) {
  event.row.payload.clear();
  event.cells = 0;
  return checksum(event);
}

StoredEvent entry_from(const Statement& row) {
  StoredEvent event;
  event.study = row.integer(0);
  event.row.trial = row.integer(1);
  event.row.kind = row.text(2);
  event.row.attempt = static_cast<int>(row.integer(3));
  event.row.epoch = static_cast<int>(row.integer(4));
  event.repeat_key = row.integer(5);
  event.seq = row.integer(6);
  return event;
}

Result<Sums> expected_sums(sqlite3* database) {
  DETOL_ASSIGN(const auto studies, read_studies(database));
  Sums sums;
  for (const Study& study : studies) {
    DETOL_TRY(for_each_event(database, study, [&](const StoredEvent& event) -> Result<void> {
      sums.cells += event.cells;
      sums.index += index_hash(event);
      return {};
    }));
  }
  return sums;
}

Result<Sums> found_sums(sqlite3* database) {
  const Scan params{"SELECT study, trial, name, value FROM params", "iit?", kCells};
  DETOL_ASSIGN(const std::uint64_t param_sum, sum(database, params, [](const Statement& row) {
                 return param_hash(row.integer(0), row.integer(1), row.text(2), value_in(row, 3));
               }));
  const Scan metrics{"SELECT study, trial, epoch, attempt, name, value FROM metrics", "iiiitR",
                     kCells};
  DETOL_ASSIGN(const std::uint64_t metric_sum, sum(database, metrics, [](const Statement& row) {
                 return metric_hash(row.integer(0), row.integer(1), row.integer(2), row.integer(3),
                                    row.text(4), row.real(5));
               }));
  const Scan index{
      "SELECT study, trial, kind, attempt, epoch, copy, seq FROM events "
      "INDEXED BY events_by_trial",
      "iitiiii", kIndex};
  DETOL_ASSIGN(const std::uint64_t index_sum, sum(database, index, [](const Statement& row) {
                 return index_hash(entry_from(row));
               }));
  return Sums{param_sum + metric_sum, index_sum};
}

struct StoredStudy {
  sqlite3* database;
  const Study* study;
};

Result<std::vector<std::uint64_t>> event_checksums(const StoredStudy& stored) {
  std::vector<std::uint64_t> sums;
  DETOL_TRY(
      for_each_event(stored.database, *stored.study, [&](const StoredEvent& event) -> Result<void> {
        sums.push_back(checksum(event));
        return {};
      }));
  return sums;
}

// Returns the first difference; empty if all of `before` is in `now`.
Result<std::string> difference_of(const StoredStudy& before, const StoredStudy& now) {
  const StudyRecord& old_record = before.study->record;
  const StudyRecord& record = now.study->record;
  if (old_record.config != record.config || old_record.data_fingerprint != record.data_fingerprint)
    return fmt::format("study '{}' has another configuration than in the backup", record.name);
  DETOL_ASSIGN(const auto old_sums, event_checksums(before));
  DETOL_ASSIGN(const auto sums, event_checksums(now));
  for (std::size_t i = 0; i < old_sums.size(); ++i) {
    if (i >= sums.size() || sums[i] != old_sums[i])
      return fmt::format("event {} of study '{}' is not as in the backup", i + 1, record.name);
  }
  return std::string();
}

}  // namespace

Result<void> verify(sqlite3* database) {
  DETOL_TRY(check_definitions(database));
  DETOL_ASSIGN(const Sums expected, expected_sums(database));
  DETOL_ASSIGN(const Sums found, found_sums(database));
  if (expected.cells != found.cells) return tl::unexpected(damaged(database, kCells));
  if (expected.index != found.index) return tl::unexpected(damaged(database, kIndex));
  return {};
}

std::vector<std::string> find_problems(sqlite3* database) {
  std::vector<std::string> problems;
  auto rows = Statement::prepare(database, "PRAGMA integrity_check");
  if (!rows) return {rows.error().message};
  auto more = rows->step();
  for (; more && *more; more = rows->step()) {
    if (rows->text(0) != "ok") problems.emplace_back(rows->text(0));
  }
  if (!more) problems.push_back(more.error().message);
  rows->reset();
  const auto verified = in_read_transaction(database, [&] { return verify(database); });
  if (!verified) problems.push_back(verified.error().message);
  return problems;
}

Result<std::vector<std::string>> check(const std::filesystem::path& path) {
  DETOL_ASSIGN(const WalReport log, examine_idle_wal(path));
  DETOL_ASSIGN(const auto database, open_for_reading(path));
  std::vector<std::string> problems = find_problems(database.get());
  if (log.state != WalReport::State::kSound) problems.push_back(problem_of(path, log));
  return problems;
}

Result<Counts> count(const std::filesystem::path& path) {
  DETOL_ASSIGN(const auto database, open_for_reading(path));
  DETOL_ASSIGN(auto row,
               Statement::prepare(
                   database.get(),
                   "WITH c(studies, events, others) AS (SELECT (SELECT count(*) FROM studies), "
                   "(SELECT count(*) FROM events), (SELECT count(*) FROM progress) + (SELECT "
                   "count(*) FROM params) + (SELECT count(*) FROM metrics) + (SELECT count(*) "
                   "FROM writer)) SELECT studies, (SELECT count(*) FROM events WHERE kind = "
                   "'asked'), studies + events + others FROM c"));
  DETOL_TRY(row.step());
  return Counts{row.integer(0), row.integer(1), row.integer(2)};
}

Result<std::vector<std::string>> compare(const std::filesystem::path& path,
                                         const std::filesystem::path& older) {
  DETOL_ASSIGN(const auto now, open_for_reading(path));
  DETOL_ASSIGN(const auto before, open_for_reading(older));
  return in_read_transaction(now.get(), [&]() -> Result<std::vector<std::string>> {
    DETOL_ASSIGN(const auto studies, read_studies(before.get()));
    DETOL_ASSIGN(const auto present, read_studies(now.get()));
    std::vector<std::string> differences;
    for (const Study& study : studies) {
      const auto same = std::ranges::find_if(present, [&](const Study& other) {
        return other.record.id == study.record.id &&
               other.record.created_s == study.record.created_s;
      });
      if (same == present.end()) continue;
      DETOL_ASSIGN(std::string difference,
                   difference_of({before.get(), &study}, {now.get(), &*same}));
      if (!difference.empty()) differences.push_back(std::move(difference));
    }
    return differences;
  });
}

}  // namespace detol::inline knowledge
