// The stored definitions of a database, compared with those that this version creates.

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include <sqlite3.h>

#include "core/utf8.h"
#include "knowledge/schema_impl.h"

namespace detol::inline knowledge {
namespace {

struct Definition {
  std::string type, name, table, sql;
  bool operator==(const Definition&) const = default;
};

Result<std::vector<Definition>> definitions(sqlite3* database) {
  DETOL_ASSIGN(auto rows, sqlite::Statement::prepare(
                              database, "SELECT type, name, tbl_name, sql FROM sqlite_schema"));
  std::vector<Definition> all;
  while (true) {
    DETOL_ASSIGN(const bool more, rows.step());
    if (!more) return all;
    const auto text = [&rows](int column) { return std::string(rows.text(column)); };
    all.push_back({text(0), text(1), text(2), text(3)});
  }
}

Result<std::vector<Definition>> definitions_of_this_version() {
  DETOL_ASSIGN(auto model, sqlite::open(":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE));
  DETOL_TRY(define(model.get()));
  return definitions(model.get());
}

// Returns the first of `some` that is not among `all`, or the end.
auto first_beyond(const std::vector<Definition>& some, const std::vector<Definition>& all) {
  return std::ranges::find_if(
      some, [&](const Definition& one) { return std::ranges::find(all, one) == all.end(); });
}

// Returns true for tables of other programs and their indexes. They are data, which no statement of
// ours reads; views and triggers are programs, and an index on our tables may refuse what we write.
bool is_data_of_others(const Definition& one, const std::vector<Definition>& ours) {
  return (one.type == "table" || one.type == "index") &&
         std::ranges::find(ours, one.table, &Definition::name) == ours.end();
}

}  // namespace

Result<void> check_definitions(sqlite3* database) {
  const auto refuse = [database](const Definition& one, std::string_view what) {
    return fail(ErrorCode::kStorage,
                fmt::format("{}: {} {} {}", sqlite3_db_filename(database, "main"),
                            printable_excerpt(one.type), printable_excerpt(one.name), what));
  };
  DETOL_ASSIGN(const int version, schema_version(database));
  DETOL_ASSIGN(auto found, definitions(database));
  DETOL_ASSIGN(const auto ours, definitions_of_this_version());
  const auto missing = first_beyond(ours, found);
  if (version < kSchemaVersion && missing != ours.end()) return {};  // a migration replaces them
  if (version < kSchemaVersion)
    return refuse(ours.front(), fmt::format("is not of its schema's version, {}; the file is "
                                            "damaged: restore a backup",
                                            version));
  if (missing != ours.end())
    return refuse(*missing,
                  "is not as detol defined it: the file is damaged, or another program "
                  "changed it; restore a backup");
  std::erase_if(found, [&](const Definition& one) { return is_data_of_others(one, ours); });
  if (const auto added = first_beyond(found, ours); added != found.end())
    return refuse(*added,
                  "is of another program, and detol runs nothing of others; drop it there, "
                  "or restore a backup");
  return {};
}

}  // namespace detol::inline knowledge
