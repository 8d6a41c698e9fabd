#include "knowledge/query.h"

#include <fmt/format.h>

#include <iterator>

#include "core/utf8.h"
#include "knowledge/fact_rows_impl.h"
#include "knowledge/folder_intent_impl.h"
#include "knowledge/reader_impl.h"
#include "knowledge/rows_impl.h"
#include "knowledge/schema_impl.h"
#include "knowledge/storage/scoped_limits.h"
#include "knowledge/writable_database_impl.h"

namespace detol::inline knowledge {
namespace {

namespace fs = std::filesystem;
using sqlite::Statement;

// The authorizer allows reading only: no other file, no setting, no extension.
int authorize(void*, int action, const char*, const char* function, const char*, const char*) {
  switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE:
      return SQLITE_OK;
    case SQLITE_FUNCTION:
      return sqlite3_stricmp(function, "load_extension") == 0 ? SQLITE_DENY : SQLITE_OK;
    default:
      return SQLITE_DENY;
  }
}

// Returns true if only blanks, comments and semicolons are left.
bool is_blank(sqlite3* database, const char* sql) {
  while (*sql != '\0') {
    sqlite3_stmt* statement = nullptr;
    const char* rest = nullptr;
    const int code = sqlite3_prepare_v3(database, sql, -1, 0, &statement, &rest);
    sqlite3_finalize(statement);
    if (code != SQLITE_OK || statement != nullptr) return false;
    sql = rest;
  }
  return true;
}

// Returns how to write a column that there is not, if it may be meant for a parameter or a metric.
std::string hint_for(std::string_view why) {
  constexpr std::string_view kNoColumn = "no such column: ";
  if (!why.starts_with(kNoColumn)) return "";
  const std::string name = printable_excerpt(why.substr(kNoColumn.size()));
  return fmt::format(
      " (of v_trials a parameter is params_json->>'{0}', a metric "
      "values_json->>'{0}')",
      name);
}

Error refused(std::string_view why) {
  return {ErrorCode::kUsage,
          fmt::format(
              "the query was refused: {}{}; write one SELECT over v_studies, v_trials, "
              "v_params, v_metrics, v_models, v_workers, v_datasets, v_networks, v_hosts, v_runs",
              printable_excerpt(why), hint_for(why))};
}

Cell cell_at(const Statement& row, int column) {
  switch (row.type(column)) {
    case SQLITE_NULL:
      return std::monostate{};
    case SQLITE_INTEGER:
      return row.integer(column);
    case SQLITE_FLOAT:
      return row.real(column);
    default:
      return std::string(row.text(column));
  }
}

void bind_cell(Statement& statement, int index, const Cell& cell) {
  if (const auto* whole = std::get_if<std::int64_t>(&cell)) return statement.bind(index, *whole);
  if (const auto* real = std::get_if<double>(&cell)) return statement.bind(index, *real);
  if (const auto* text = std::get_if<std::string>(&cell))
    return statement.bind(index, std::string_view(*text));
  statement.bind_null(index);
}

Error beyond(const std::string& limit, std::string_view flag) {
  return {ErrorCode::kUsage,
          fmt::format("the query needs more than {}; ask for less, or pass {}", limit, flag)};
}

Error too_much_memory(const QueryLimits& limits) {
  return beyond(fmt::format("{} MB of memory", limits.bytes / 1'000'000), "--memory");
}

std::int64_t bytes_of(const std::vector<Cell>& row) {
  std::size_t bytes = sizeof(std::vector<Cell>) + row.size() * sizeof(Cell);
  for (const Cell& cell : row) {
    if (const auto* text = std::get_if<std::string>(&cell)) bytes += text->size();
  }
  return static_cast<std::int64_t>(bytes);
}

class SqliteReader final : public Reader {
 public:
  explicit SqliteReader(ReadableDatabase database) : database_(std::move(database)) {}

  Result<Rows> select(const std::string& sql, const std::vector<Cell>& arguments,
                      const QueryLimits& limits) override;

  Result<std::vector<StudyRecord>> studies() override {
    DETOL_ASSIGN(auto all, database_.read(read_studies));
    std::vector<StudyRecord> records;
    for (Study& study : all) records.push_back(std::move(study.record));
    return records;
  }
  Result<StudyRecord> study(const std::string& name) override {
    DETOL_ASSIGN(Study found,
                 database_.read([&](sqlite3* from) { return find_study(from, name); }));
    return std::move(found.record);
  }
  Result<std::vector<Event>> events(StudyId id) override {
    return database_.read([&](sqlite3* from) { return read_events(from, id); });
  }
  Result<std::vector<Fact>> facts(const std::string& kind) override {
    return database_.read([&](sqlite3* from) { return read_facts(from, kind); });
  }
  Result<std::optional<Fact>> fact(const std::string& kind, const std::string& key) override {
    return database_.read([&](sqlite3* from) { return find_fact(from, kind, key); });
  }
  Result<NewEvents> events_after(StudyId id, std::int64_t last) override {
    return database_.read([&](sqlite3* from) { return read_events_after(from, id, last); });
  }

 private:
  ReadableDatabase database_;
};

Result<Statement> prepare(sqlite3* database, const std::string& sql) {
  if (sql.find('\0') != std::string::npos)
    return tl::unexpected(refused("it contains a zero byte"));
  sqlite3_set_authorizer(database, authorize, nullptr);
  const char* rest = nullptr;
  auto statement = Statement::prepare(database, sql, &rest);
  const bool is_single = statement && is_blank(database, rest);
  sqlite3_set_authorizer(database, nullptr, nullptr);
  if (!statement) return tl::unexpected(refused(sqlite3_errmsg(database)));
  if (statement->raw() == nullptr) return tl::unexpected(refused("it is empty"));
  if (!is_single) return tl::unexpected(refused("it has more than one statement"));
  if (sqlite3_stmt_readonly(statement->raw()) == 0)
    return tl::unexpected(refused("it would write"));
  return statement;
}

// Describes why a step failed.
Error failure_of_query(sqlite3* database, const QueryLimits& limits) {
  switch (sqlite3_errcode(database)) {
    case SQLITE_ERROR:
    case SQLITE_MISMATCH:  // LIMIT 'a'
      return refused(sqlite3_errmsg(database));
    case SQLITE_INTERRUPT:
      return beyond(fmt::format("{} s", limits.seconds), "--timeout");
    case SQLITE_NOMEM:
    case SQLITE_TOOBIG:
      if (limits.bytes > 0) return too_much_memory(limits);
      [[fallthrough]];
    default:
      return sqlite::failure(database);
  }
}

Result<Rows> fetch(Statement& statement, const QueryLimits& limits) {
  Rows result;
  std::int64_t bytes = 0;
  const int columns = sqlite3_column_count(statement.raw());
  for (int i = 0; i < columns; ++i)
    result.columns.emplace_back(sqlite3_column_name(statement.raw(), i));
  while (true) {
    const auto more = statement.step();
    if (!more) return tl::unexpected(failure_of_query(sqlite3_db_handle(statement.raw()), limits));
    const bool is_full = limits.rows > 0 && std::ssize(result.rows) == limits.rows;
    result.is_cut = *more && is_full;
    if (!*more || is_full) return result;
    std::vector<Cell> row;
    row.reserve(static_cast<std::size_t>(columns));
    for (int i = 0; i < columns; ++i) row.push_back(cell_at(statement, i));
    bytes += bytes_of(row);
    if (limits.bytes > 0 && bytes > limits.bytes) return tl::unexpected(too_much_memory(limits));
    result.rows.push_back(std::move(row));
  }
}

Result<Rows> SqliteReader::select(const std::string& sql, const std::vector<Cell>& arguments,
                                  const QueryLimits& limits) {
  return database_.read([&](sqlite3* from) -> Result<Rows> {
    const sqlite::ScopedLimits restraint(from, limits.bytes, limits.seconds);
    DETOL_ASSIGN(Statement statement, prepare(from, sql));
    for (std::size_t i = 0; i < arguments.size(); ++i)
      bind_cell(statement, static_cast<int>(i) + 1, arguments[i]);
    return fetch(statement, limits);
  });
}

}  // namespace

Result<std::unique_ptr<Reader>> Reader::open(const fs::path& path) {
  // Completes a change of a whole study that was killed, unless it still runs.
  if (has_intent(path)) (void)WritableDatabase::open(path, Access::kExclusiveAtOnce);
  {
    DETOL_ASSIGN(auto database, open_for_reading(path));
    DETOL_ASSIGN(const int version, database.read([](sqlite3* from) {
      return check_definitions(from).and_then([from] { return schema_version(from); });
    }));
    if (version == kSchemaVersion) return std::make_unique<SqliteReader>(std::move(database));
  }
  DETOL_TRY(WritableDatabase::open(path, Access::kExclusive));  // migrates it
  DETOL_ASSIGN(auto database, open_for_reading(path));
  return std::make_unique<SqliteReader>(std::move(database));
}

}  // namespace detol::inline knowledge
