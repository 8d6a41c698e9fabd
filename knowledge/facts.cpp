#include "knowledge/facts.h"

#include <fmt/format.h>

#include "knowledge/facts_impl.h"
#include "knowledge/rows_impl.h"
#include "knowledge/schema_impl.h"

namespace detol::inline knowledge {
namespace {

using sqlite::Statement;

constexpr const char* kFactTable = R"sql(
CREATE TABLE facts (
  kind TEXT NOT NULL,
  key TEXT NOT NULL,
  payload TEXT NOT NULL,
  checksum INTEGER NOT NULL,
  PRIMARY KEY (kind, key)
) WITHOUT ROWID;
)sql";

// A row of reports that holds all epochs up to its own has the whole work of its trial's attempt,
// so that a speed needs no look at other rows. Only the newest study of a host is read.
constexpr const char* kFactViews = R"sql(
CREATE VIEW v_networks AS
SELECT key AS arch_hash, payload->>'params' AS params, payload->>'flops' AS flops,
  payload->>'graph' AS graph
FROM facts WHERE kind = 'network';

CREATE VIEW v_runs AS
SELECT r.key AS run, r.payload->>'study' AS study, r.payload->>'command' AS command,
  r.payload->>'at' AS started, strftime('%Y-%m-%dT%H:%M:%SZ', r.payload->>'at', 'unixepoch')
    AS started_at,
  r.payload->>'version' AS version, r.payload->>'user' AS user, r.payload->>'host' AS host,
  h.payload->>'name' AS host_name, r.payload->>'backend' AS backend,
  r.payload->>'workers' AS workers
FROM facts r LEFT JOIN facts h ON h.kind = 'host' AND h.key = r.payload->>'host'
WHERE r.kind = 'run';

CREATE VIEW v_hosts AS
SELECT h.key AS host, h.payload->>'name' AS name, h.payload->>'cpu' AS cpu,
  h.payload->>'cores' AS cores, h.payload->>'memory' AS memory_bytes,
  h.payload->'gpus' AS gpus_json,
  (SELECT count(*) FROM v_runs r WHERE r.host = h.key) AS runs,
  (SELECT min(r.started_at) FROM v_runs r WHERE r.host = h.key) AS first_used_at,
  (SELECT max(r.started_at) FROM v_runs r WHERE r.host = h.key) AS last_used_at,
  (SELECT sum(t.work) / nullif(sum(t.device_s), 0) FROM
     (SELECT max(e.payload->>'$.work[#-1]') AS work, sum(e.payload->>'device_s') AS device_s
      FROM studies s JOIN events e ON e.study = s.id
      WHERE s.name = (SELECT r.study FROM v_runs r WHERE r.host = h.key
                      ORDER BY r.started DESC LIMIT 1)
        AND e.kind = 'reported' GROUP BY e.trial) t) AS flops_per_second
FROM facts h WHERE h.kind = 'host';
)sql";

// Returns the fact in a row, after verifying its checksum.
Result<Fact> fact_from(sqlite3* database, const Statement& row) {
  const bool is_typed = row.has_types("ttti");  // before the reads convert the columns
  Fact fact{std::string(row.text(0)), std::string(row.text(1)), std::string(row.text(2))};
  if (is_typed && checksum(fact) == static_cast<std::uint64_t>(row.integer(3))) return fact;
  return tl::unexpected(damaged(database, fmt::format("the {} fact '{}'", fact.kind, fact.key)));
}

}  // namespace

Result<void> define_facts(sqlite3* database) {
  return sqlite::run(database, kFactTable);
}

Result<void> define_fact_views(sqlite3* database) {
  return sqlite::run(database, kFactViews);
}

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
