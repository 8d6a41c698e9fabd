#include "knowledge/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <set>

#include <sqlite3.h>

#include "core/log.h"
#include "knowledge/fact_rows_impl.h"
#include "knowledge/reader_impl.h"
#include "knowledge/reports.h"
#include "knowledge/rows_impl.h"
#include "knowledge/schema_impl.h"
#include "knowledge/storage/wal.h"
#include "knowledge/verify_impl.h"

namespace detol::inline knowledge {
namespace {

using sqlite::Statement;

struct StoredStudy {
  sqlite3* database;
  const Study* study;
};

// Returns a hash of each event of a study, which does not depend on the schema's version.
Result<std::vector<std::uint64_t>> event_hashes(const StoredStudy& stored) {
  DETOL_ASSIGN(const auto events, read_numbered(stored.database, *stored.study));
  std::vector<std::uint64_t> hashes;
  for (const NumberedEvent& each : events) {
    EventRow row = single_row(each.event, stored.study->record.objectives);
    row.step = 0;  // which old versions do not know
    hashes.push_back(checksum({stored.study->record.id, each.seq, std::move(row)}));
  }
  return hashes;
}

// Returns the first difference; empty if all of `before` is in `now`.
Result<std::string> difference_of(const StoredStudy& before, const StoredStudy& now) {
  const StudyRecord& old_record = before.study->record;
  const StudyRecord& record = now.study->record;
  if (old_record.first_config() != record.first_config() ||
      old_record.data_fingerprint != record.data_fingerprint)
    return fmt::format("study '{}' has another configuration than in the backup", record.name);
  DETOL_ASSIGN(const auto old_sums, event_hashes(before));
  DETOL_ASSIGN(const auto sums, event_hashes(now));
  for (std::size_t i = 0; i < old_sums.size(); ++i) {
    if (i >= sums.size() || sums[i] != old_sums[i])
      return fmt::format("event {} of study '{}' is not as in the backup", i + 1, record.name);
  }
  return std::string();
}

Result<std::vector<std::string>> differences_of(sqlite3* before, sqlite3* now) {
  DETOL_ASSIGN(const auto studies, read_studies(before));
  DETOL_ASSIGN(const auto present, read_studies(now));
  DETOL_ASSIGN(const std::int64_t old_facts, count_facts(before));
  DETOL_ASSIGN(const std::int64_t facts, count_facts(now));
  std::vector<std::string> differences;
  if (facts < old_facts)  // none is ever removed
    differences.push_back(fmt::format("{} facts of the backup are missing", old_facts - facts));
  for (const Study& study : studies) {
    const auto same = std::ranges::find_if(present, [&](const Study& other) {
      return other.record.id == study.record.id && other.record.created_s == study.record.created_s;
    });
    if (same == present.end()) continue;
    DETOL_ASSIGN(std::string difference, difference_of({before, &study}, {now, &*same}));
    if (!difference.empty()) differences.push_back(std::move(difference));
  }
  return differences;
}

// Says once per file what its verification found: a command may open it several times.
void say_once(const std::string& line) {
  static std::mutex mutex;
  static std::set<std::string> said;
  const std::scoped_lock lock(mutex);
  if (said.insert(line).second) log_info("{}", line);
}

}  // namespace

Result<void> verify(sqlite3* database) {
  DETOL_TRY(check_definitions(database));
  DETOL_ASSIGN(const auto studies, read_studies(database));
  DETOL_ASSIGN(const int version, schema_version(database));
  for (const Study& study : studies) {
    DETOL_ASSIGN(auto events, read_numbered(database, study));
    if (version < kFirstWithSummaries) continue;
    const auto computed = summary_of(study.record, without_numbers(std::move(events)));
    if (!agrees(study.summary, computed))
      return tl::unexpected(
          damaged(database, fmt::format("the summary of study '{}'", study.record.name)));
  }
  DETOL_TRY(read_facts(database, ""));
  return {};
}

Result<void> PageVerification::accept_pages() {
  if (const auto problems = find_problems(database_); !problems.empty()) {
    damage_ = Error{ErrorCode::kStorage, problems.front()};
    return tl::unexpected(*damage_);
  }
  const bool is_renewed = sqlite::renew_checksums(database_);
  say_once(
      fmt::format("{}: another program wrote to it, so all of it was verified{}",
                  sqlite3_db_filename(database_, "main"),
                  is_renewed ? "" : "; the next command that writes makes this the last time"));
  return {};
}

std::vector<std::string> find_problems(sqlite3* database) {
  sqlite::skip_verification(database);
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
  std::vector<std::string> problems = find_problems(database.unverified());
  if (log.state != WalReport::State::kSound) problems.push_back(problem_of(path, log));
  return problems;
}

Result<Counts> count(const std::filesystem::path& path) {
  constexpr std::string_view kCounts =
      "SELECT count(*), (SELECT count(*) FROM events WHERE kind = 'asked'), "
      "coalesce(sum(p.last_seq), 0) FROM studies s LEFT JOIN progress p ON p.study = s.id";
  DETOL_ASSIGN(auto database, open_for_reading(path));
  return database.read([&](sqlite3* handle) -> Result<Counts> {
    DETOL_ASSIGN(auto row, Statement::prepare(handle, kCounts));
    DETOL_TRY(row.step());
    return Counts{row.integer(0), row.integer(1), row.integer(2)};
  });
}

Result<std::vector<std::string>> compare(const std::filesystem::path& path,
                                         const std::filesystem::path& older) {
  DETOL_ASSIGN(auto now, open_for_reading(path));
  DETOL_ASSIGN(auto before, open_for_reading(older));
  return now.read([&](sqlite3* present) {
    return before.read([&](sqlite3* past) { return differences_of(past, present); });
  });
}

}  // namespace detol::inline knowledge
