#include "knowledge/query.h"

#include <fmt/format.h>

#include "knowledge/pending_impl.h"
#include "knowledge/reader_impl.h"
#include "knowledge/rows_impl.h"
#include "knowledge/schema_impl.h"
#include "knowledge/verify_impl.h"
#include "knowledge/writing_impl.h"

namespace detol {
namespace {

namespace fs = std::filesystem;
using sqlite::Statement;

// Only reading: no other file, no setting, no extension.
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

// True if only blanks, comments and semicolons are left.
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

Error refused(std::string_view why) {
  return {ErrorCode::kUsage,
          fmt::format("the query was refused: {}; write one SELECT over v_studies, v_trials, "
                      "v_params, v_metrics, v_workers, v_datasets",
                      why)};
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

class SqliteReader final : public Reader {
 public:
  explicit SqliteReader(sqlite::Database database) : database_(std::move(database)) {}

  Result<Rows> select(const std::string& sql, const std::vector<Cell>& arguments) override;

  Result<std::vector<StudyRecord>> studies() override {
    DETOL_ASSIGN(auto all, read_studies(database_.get()));
    std::vector<StudyRecord> records;
    for (Study& study : all) records.push_back(std::move(study.record));
    return records;
  }
  Result<StudyRecord> study(const std::string& name) override {
    DETOL_ASSIGN(Study found, find_study(database_.get(), name));
    return std::move(found.record);
  }
  Result<std::vector<Event>> events(StudyId id) override {
    return at_one_moment(database_.get(), [&] { return read_events(database_.get(), id); });
  }
  Result<News> news(StudyId id, std::int64_t last) override {
    return at_one_moment(database_.get(), [&] { return read_news(database_.get(), id, last); });
  }

 private:
  Result<Statement> prepare(const std::string& sql);
  Result<Rows> fetch(Statement& statement);

  sqlite::Database database_;
  bool is_verified_ = false;
};

Result<Statement> SqliteReader::prepare(const std::string& sql) {
  if (sql.find('\0') != std::string::npos)
    return tl::unexpected(refused("it contains a zero byte"));
  sqlite3_set_authorizer(database_.get(), authorize, nullptr);
  const char* rest = nullptr;
  auto statement = Statement::prepare(database_.get(), sql, &rest);
  const bool is_single = statement && is_blank(database_.get(), rest);
  sqlite3_set_authorizer(database_.get(), nullptr, nullptr);
  if (!statement) return tl::unexpected(refused(sqlite3_errmsg(database_.get())));
  if (statement->raw() == nullptr) return tl::unexpected(refused("it is empty"));
  if (!is_single) return tl::unexpected(refused("it has more than one statement"));
  if (sqlite3_stmt_readonly(statement->raw()) == 0)
    return tl::unexpected(refused("it would write"));
  return statement;
}

Result<Rows> SqliteReader::fetch(Statement& statement) {
  Rows result;
  const int columns = sqlite3_column_count(statement.raw());
  for (int i = 0; i < columns; ++i)
    result.columns.emplace_back(sqlite3_column_name(statement.raw(), i));
  while (true) {
    const auto more = statement.step();
    if (!more && sqlite3_errcode(database_.get()) == SQLITE_ERROR)
      return tl::unexpected(refused(sqlite3_errmsg(database_.get())));
    if (!more) return tl::unexpected(more.error());
    if (!*more) return result;
    std::vector<Cell> row;
    for (int i = 0; i < columns; ++i) row.push_back(cell_at(statement, i));
    result.rows.push_back(std::move(row));
  }
}

// The first query verifies the whole database: any of its rows may be in the answer.
Result<Rows> SqliteReader::select(const std::string& sql, const std::vector<Cell>& arguments) {
  return at_one_moment(database_.get(), [&]() -> Result<Rows> {
    if (!is_verified_) DETOL_TRY(verify(database_.get()));
    is_verified_ = true;
    DETOL_ASSIGN(Statement statement, prepare(sql));
    for (std::size_t i = 0; i < arguments.size(); ++i)
      bind_cell(statement, static_cast<int>(i) + 1, arguments[i]);
    return fetch(statement);
  });
}

}  // namespace

Result<std::unique_ptr<Reader>> Reader::open(const fs::path& path) {
  // A change of a whole study that was killed is completed, unless it is still going on.
  if (is_pending(path)) (void)Writing::open(path);
  DETOL_ASSIGN(auto database, open_for_reading(path));
  return std::make_unique<SqliteReader>(std::move(database));
}

}  // namespace detol
