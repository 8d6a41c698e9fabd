#include "knowledge/fact_schema_impl.h"

namespace detol::inline knowledge {
namespace {

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

}  // namespace

Result<void> define_facts(sqlite3* database) {
  return sqlite::run(database, kFactTable);
}

Result<void> define_fact_views(sqlite3* database) {
  return sqlite::run(database, kFactViews);
}

}  // namespace detol::inline knowledge
