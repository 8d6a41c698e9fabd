#include <fmt/format.h>

#include "knowledge/fact_rows_impl.h"
#include "knowledge/rows_impl.h"
#include "knowledge/schema_impl.h"

namespace detol::inline knowledge {
namespace {

using sqlite::Statement;

// Returns the fact in a row, after verifying its checksum.
Result<Fact> fact_from(sqlite3* database, const Statement& row) {
  const bool is_typed = row.has_types("ttti");  // before the reads convert the columns
  Fact fact{std::string(row.text(0)), std::string(row.text(1)), std::string(row.text(2))};
  if (is_typed && checksum(fact) == static_cast<std::uint64_t>(row.integer(3))) return fact;
  return tl::unexpected(damaged(database, fmt::format("the {} fact '{}'", fact.kind, fact.key)));
}

}  // namespace

Result<void> write_facts(sqlite3* database, std::span<const Fact> facts) {
  if (facts.empty()) return {};
  DETOL_ASSIGN(auto add, Statement::prepare(database,
                                            "INSERT INTO facts VALUES (?1, ?2, ?3, ?4) "
                                            "ON CONFLICT (kind, key) DO NOTHING"));
  for (const Fact& fact : facts) {
    add.bind(1, std::string_view(fact.kind));
    add.bind(2, std::string_view(fact.key));
    add.bind(3, std::string_view(fact.payload));
    add.bind(4, checksum(fact));
    DETOL_TRY(add.run());
  }
  return {};
}

Result<std::vector<Fact>> read_facts(sqlite3* database, const std::string& kind) {
  std::vector<Fact> facts;
  DETOL_ASSIGN(const int version, schema_version(database));
  if (version < kFirstWithFacts) return facts;
  const auto sql =
      fmt::format("SELECT kind, key, payload, checksum FROM facts {} ORDER BY kind, key",
                  kind.empty() ? "" : "WHERE kind = ?1");
  DETOL_ASSIGN(auto rows, Statement::prepare(database, sql));
  if (!kind.empty()) rows.bind(1, std::string_view(kind));
  while (true) {
    DETOL_ASSIGN(const bool more, rows.step());
    if (!more) return facts;
    DETOL_ASSIGN(Fact fact, fact_from(database, rows));
    facts.push_back(std::move(fact));
  }
}

Result<std::int64_t> count_facts(sqlite3* database) {
  DETOL_ASSIGN(const int version, schema_version(database));
  if (version < kFirstWithFacts) return 0;
  DETOL_ASSIGN(auto row, Statement::prepare(database, "SELECT count(*) FROM facts"));
  DETOL_TRY(row.step());
  return row.integer(0);
}

Result<std::optional<Fact>> find_fact(sqlite3* database, const std::string& kind,
                                      const std::string& key) {
  DETOL_ASSIGN(auto row, Statement::prepare(database,
                                            "SELECT kind, key, payload, checksum FROM facts "
                                            "WHERE kind = ?1 AND key = ?2"));
  row.bind(1, std::string_view(kind));
  row.bind(2, std::string_view(key));
  DETOL_ASSIGN(const bool found, row.step());
  if (!found) return std::optional<Fact>();
  return fact_from(database, row).map([](Fact fact) { return std::optional(std::move(fact)); });
}

}  // namespace detol::inline knowledge
