#include <fmt/format.h>

#include <array>
#include <cstring>
#include <fstream>
#include <system_error>

#include <sqlite3.h>

#include "core/durable_file.h"
#include "knowledge/fact_schema_impl.h"
#include "knowledge/schema_impl.h"
#include "knowledge/storage/file_system.h"
#include "knowledge/storage/page_checksums.h"
#include "knowledge/storage/page_layout.h"

namespace detol::inline knowledge {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTables = R"sql(
CREATE TABLE studies (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  config TEXT NOT NULL,
  objectives TEXT NOT NULL,
  metric TEXT,
  data_fingerprint INTEGER NOT NULL,
  created REAL NOT NULL,
  checksum INTEGER NOT NULL
) WITHOUT ROWID;

CREATE UNIQUE INDEX studies_by_name ON studies (name);

CREATE TABLE events (
  study INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  kind TEXT NOT NULL,
  trial INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  epoch INTEGER NOT NULL,
  step INTEGER NOT NULL,
  copy INTEGER NOT NULL,
  payload TEXT NOT NULL,
  checksum INTEGER NOT NULL,
  PRIMARY KEY (study, seq)
) WITHOUT ROWID;

CREATE UNIQUE INDEX events_by_trial ON events (study, trial, kind, attempt, step, copy);

CREATE INDEX events_by_identity ON events (payload->>'identity')
  WHERE kind = 'asked' AND payload->>'identity' IS NOT NULL;

CREATE TABLE writers (
  study INTEGER PRIMARY KEY,
  token INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE identity (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  database INTEGER NOT NULL
) WITHOUT ROWID;
)sql";

constexpr const char* kProgress = R"sql(
CREATE TABLE progress (
  study INTEGER PRIMARY KEY,
  state TEXT NOT NULL,
  budget TEXT NOT NULL,
  wall_seconds REAL NOT NULL,
  device_seconds REAL NOT NULL,
  last_seq INTEGER NOT NULL,
  event_rows INTEGER NOT NULL,
  digest INTEGER NOT NULL,
  trials INTEGER NOT NULL,
  best_is_known INTEGER NOT NULL,
  best_trial INTEGER,
  best REAL,
  config TEXT,
  checksum INTEGER NOT NULL
) WITHOUT ROWID;
)sql";

constexpr const char* kModelIndex = R"sql(
CREATE INDEX events_by_model ON events (study, payload->>'model') WHERE kind = 'model';
)sql";

// Without INDEXED BY the planner finds max(seq) of one trial by walking the whole study. In a row
// of reports the arrays end with the newest one, and `copy` counts them; the trial's value is of
// the last one that `best` marks, or of the newest where there is none. The second half of
// v_metrics is for attempts that a later one followed, and so need a look at each epoch. A
// condition on the study reaches the events only through an expression that the view groups by,
// hence the study's name. v_studies looks at trials only where the best one is not known
// (study_summary_impl.h).
constexpr const char* kViews = R"sql(
CREATE VIEW v_trials AS
SELECT s.name AS study, a.trial AS trial,
  CASE last.kind WHEN 'told' THEN told.payload->>'state' WHEN 'started' THEN 'RUNNING'
                 ELSE 'WAITING' END AS state,
  CASE last.kind WHEN 'told' THEN nullif(told.payload->>'failure', '') END AS failure,
  CASE WHEN last.kind IN ('told', 'requeued')
       THEN nullif(last.payload->>'reason', '') END AS reason,
  a.payload->>'proposer' AS algorithm,
  nullif(a.payload->>'arch_hash', '') AS arch_hash,
  a.payload->>'network_params' AS params,
  a.payload->>'flops' AS flops,
  coalesce(report.epoch + coalesce(report.payload->>'part', 0), 0) AS epochs,
  coalesce((SELECT sum(r.payload->>'device_s') FROM events r INDEXED BY events_by_trial
            WHERE r.study = a.study AND r.trial = a.trial AND r.kind = 'reported'),
           0.0) AS device_seconds,
  (SELECT r.payload->>'at' FROM events r INDEXED BY events_by_trial
   WHERE r.study = a.study AND r.trial = a.trial AND r.kind = 'started'
   ORDER BY r.attempt LIMIT 1) AS started,
  CASE last.kind WHEN 'told' THEN told.payload->>'at' END AS finished,
  CASE WHEN best.seq IS NOT NULL
       THEN (SELECT CASE v.value WHEN 'NaN' THEN NULL WHEN 'Infinity' THEN 9e999
                                WHEN '-Infinity' THEN -9e999 ELSE v.value END FROM
             (SELECT m.value->>(coalesce(length(rtrim(best.payload->>'best', '0')), best.copy) - 1)
                AS value FROM json_each(best.payload, '$.metrics') m
              WHERE m.key = s.metric) v)
       ELSE (SELECT v.atom FROM json_each(told.payload, '$.values') v
             WHERE v.key = s.metric AND v.type IN ('real', 'integer')) END AS value,
  CASE WHEN best.seq IS NOT NULL
       THEN (SELECT json_group_object(m.key,
               m.value->(coalesce(length(rtrim(best.payload->>'best', '0')), best.copy) - 1))
             FROM json_each(best.payload, '$.metrics') m)
       ELSE told.payload->'values' END AS values_json,
  a.payload->'params' AS params_json,
  strftime('%Y-%m-%dT%H:%M:%SZ',
    (SELECT r.payload->>'at' FROM events r INDEXED BY events_by_trial
     WHERE r.study = a.study AND r.trial = a.trial AND r.kind = 'started'
     ORDER BY r.attempt LIMIT 1), 'unixepoch') AS started_at,
  CASE last.kind WHEN 'told'
    THEN strftime('%Y-%m-%dT%H:%M:%SZ', told.payload->>'at', 'unixepoch') END AS finished_at,
  coalesce(last.payload->>'unreported_s', 0.0) AS unreported_seconds,
  CASE WHEN best.seq IS NOT NULL
    THEN coalesce((best.payload->'$.metrics.constraint_violation')->>
                  (coalesce(length(rtrim(best.payload->>'best', '0')), best.copy) - 1), 0) = 0
  END AS feasible,
  coalesce(best.epoch - best.copy + coalesce(length(rtrim(best.payload->>'best', '0')), best.copy)
           + coalesce(best.payload->>'part', 0), 0) AS best_epoch,
  a.payload->>'$.inherits[0]' AS inherits
FROM studies s JOIN events a ON a.study = s.id AND a.kind = 'asked'
LEFT JOIN events told ON told.study = a.study AND told.seq =
  (SELECT max(e.seq) FROM events e INDEXED BY events_by_trial WHERE e.study = a.study
   AND e.trial = a.trial AND e.kind = 'told')
LEFT JOIN events report ON report.study = a.study AND report.seq =
  (SELECT e.seq FROM events e INDEXED BY events_by_trial WHERE e.study = a.study
   AND e.trial = a.trial AND e.kind = 'reported' ORDER BY e.attempt DESC, e.step DESC LIMIT 1)
LEFT JOIN events best ON best.study = a.study AND best.seq =
  (SELECT e.seq FROM events e INDEXED BY events_by_trial WHERE e.study = a.study
   AND e.trial = a.trial AND e.kind = 'reported'
   AND coalesce(e.payload->>'best', '1') LIKE '%1%'
   ORDER BY e.attempt DESC, e.step DESC LIMIT 1)
LEFT JOIN events last ON last.study = a.study AND last.seq =
  (SELECT max(e.seq) FROM events e INDEXED BY events_by_trial WHERE e.study = a.study
   AND e.trial = a.trial AND e.kind IN ('asked', 'started', 'told', 'requeued'));

CREATE VIEW v_params AS
SELECT s.name AS study, a.trial AS trial, p.key AS name,
  CASE p.type WHEN 'true' THEN 1 WHEN 'false' THEN 0
              WHEN 'object' THEN CASE p.value->>'float' WHEN 'Infinity' THEN 9e999
                                                        WHEN '-Infinity' THEN -9e999 END
              ELSE p.atom END AS value
FROM studies s JOIN events a ON a.study = s.id AND a.kind = 'asked',
  json_each(a.payload, '$.params') p;

CREATE VIEW v_metrics AS
SELECT s.name AS study, r.trial AS trial,
  r.epoch - r.copy + 1 + v.key + coalesce(r.payload->>'part', 0) AS epoch, m.key AS name,
  CASE v.type WHEN 'text' THEN CASE v.atom WHEN 'Infinity' THEN 9e999
                                           WHEN '-Infinity' THEN -9e999 END
              ELSE v.atom END AS value,
  CASE r.copy WHEN 1 THEN r.step ELSE r.step / r.epoch * (r.epoch - r.copy + 1 + v.key) END AS step
FROM studies s JOIN events r ON r.study = s.id AND r.kind = 'reported',
  json_each(r.payload, '$.metrics') m, json_each(m.value) v
WHERE r.attempt = (SELECT max(n.attempt) FROM events n INDEXED BY events_by_trial
                   WHERE n.study = r.study AND n.trial = r.trial AND n.kind = 'reported')
UNION ALL
SELECT s.name, r.trial, r.epoch - r.copy + 1 + v.key + coalesce(r.payload->>'part', 0), m.key,
  CASE v.type WHEN 'text' THEN CASE v.atom WHEN 'Infinity' THEN 9e999
                                           WHEN '-Infinity' THEN -9e999 END
              ELSE v.atom END,
  CASE r.copy WHEN 1 THEN r.step ELSE r.step / r.epoch * (r.epoch - r.copy + 1 + v.key) END
FROM studies s JOIN events r ON r.study = s.id AND r.kind = 'reported',
  json_each(r.payload, '$.metrics') m, json_each(m.value) v
WHERE r.attempt < (SELECT max(n.attempt) FROM events n INDEXED BY events_by_trial
                   WHERE n.study = r.study AND n.trial = r.trial AND n.kind = 'reported')
  AND NOT EXISTS (SELECT 1 FROM events n INDEXED BY events_by_trial WHERE n.study = r.study
                  AND n.trial = r.trial AND n.kind = 'reported' AND n.attempt > r.attempt
                  AND r.epoch - r.copy + 1 + v.key BETWEEN n.epoch - n.copy + 1 AND n.epoch
                  AND coalesce(n.payload->>'part', 0) = coalesce(r.payload->>'part', 0));

CREATE VIEW v_studies AS
SELECT s.name AS study, p.state AS state, p.budget AS budget, s.metric AS metric,
  s.objectives->>'$[0].direction' AS direction, s.objectives AS objectives_json,
  s.created AS created, p.wall_seconds AS wall_seconds, p.device_seconds AS device_seconds,
  printf('%016x', s.data_fingerprint) AS dataset,
  p.trials AS trials,
  s.config AS config, strftime('%Y-%m-%dT%H:%M:%SZ', s.created, 'unixepoch') AS created_at,
  CASE p.best_is_known WHEN 1 THEN p.best ELSE
    (SELECT t.value FROM v_trials t JOIN studies d ON d.name = t.study
     WHERE t.study = s.name AND t.epochs > 0 AND t.state <> 'FAIL' AND t.value IS NOT NULL
       AND t.feasible
     ORDER BY CASE d.objectives->>'$[0].direction' WHEN 'maximize' THEN -t.value ELSE t.value END,
       t.state <> 'COMPLETE', t.trial LIMIT 1) END AS best,
  CASE p.best_is_known WHEN 1 THEN p.best_trial ELSE
    (SELECT t.trial FROM v_trials t JOIN studies d ON d.name = t.study
     WHERE t.study = s.name AND t.epochs > 0 AND t.state <> 'FAIL' AND t.value IS NOT NULL
       AND t.feasible
     ORDER BY CASE d.objectives->>'$[0].direction' WHEN 'maximize' THEN -t.value ELSE t.value END,
       t.state <> 'COMPLETE', t.trial LIMIT 1) END AS best_trial
FROM studies s JOIN progress p ON p.study = s.id;

CREATE VIEW v_models AS
SELECT s.name AS study, m.payload->>'model' AS model, m.trial AS trial,
  m.payload->>'kind' AS kind, m.payload->>'state' AS state,
  nullif(m.payload->>'failure', '') AS failure, m.payload->>'reason' AS reason,
  m.payload->>'seed' AS seed,
  m.payload->>'epochs' AS epochs, m.payload->>'trained_on' AS trained_on,
  m.payload->>'began_from' AS began_from, m.payload->>'first' AS first,
  m.payload->>'network_params' AS params, m.payload->>'flops' AS flops,
  m.payload->'metrics' AS values_json, m.payload->'intervals' AS intervals_json,
  m.payload->>'dataset' AS dataset, m.payload->>'folder' AS folder, m.payload->>'at' AS created,
  strftime('%Y-%m-%dT%H:%M:%SZ', m.payload->>'at', 'unixepoch') AS created_at,
  m.payload->>'parent' AS parent, m.payload->>'settings' AS settings,
  m.payload->>'architecture' AS architecture
FROM studies s JOIN events m INDEXED BY events_by_model ON m.study = s.id AND m.kind = 'model'
WHERE NOT EXISTS (SELECT 1 FROM events n INDEXED BY events_by_model
  WHERE n.study = m.study AND n.kind = 'model' AND n.payload->>'model' = m.payload->>'model'
    AND n.seq > m.seq);

CREATE VIEW v_workers AS
SELECT s.name AS study, b.payload->>'worker' AS worker, count(DISTINCT b.seq) AS starts,
  count(DISTINCT b.trial) AS trials, coalesce(sum(r.copy) FILTER (WHERE r.payload->>'part' IS NULL), 0)
    AS epochs,
  coalesce(sum(r.payload->>'device_s'), 0.0) AS device_seconds,
  min(b.payload->>'at') AS first_started, max(b.payload->>'at') AS last_started,
  strftime('%Y-%m-%dT%H:%M:%SZ', min(b.payload->>'at'), 'unixepoch') AS first_started_at,
  strftime('%Y-%m-%dT%H:%M:%SZ', max(b.payload->>'at'), 'unixepoch') AS last_started_at
FROM studies s JOIN events b ON b.study = s.id AND b.kind = 'started'
LEFT JOIN events r INDEXED BY events_by_trial ON r.study = b.study AND r.trial = b.trial
  AND r.kind = 'reported' AND r.attempt = b.attempt
GROUP BY s.name, b.payload->>'worker';

CREATE VIEW v_datasets AS
SELECT printf('%016x', s.data_fingerprint) AS dataset, count(*) AS studies,
  min(s.created) AS first_used, max(s.created) AS last_used,
  strftime('%Y-%m-%dT%H:%M:%SZ', min(s.created), 'unixepoch') AS first_used_at,
  strftime('%Y-%m-%dT%H:%M:%SZ', max(s.created), 'unixepoch') AS last_used_at,
  f.payload->>'name' AS name, f.payload->>'path' AS path, f.payload->>'task' AS task,
  f.payload->>'shape' AS shape, f.payload->>'samples' AS samples,
  f.payload->>'classes' AS classes, f.payload->>'bytes' AS bytes,
  f.payload->>'largest_class' AS largest_class, f.payload->>'entropy' AS entropy,
  f.payload->>'zeros' AS zeros, f.payload->>'mean' AS mean,
  f.payload->>'deviation' AS deviation, f.payload->>'skew' AS skew,
  f.payload->>'intrinsic_dimension' AS intrinsic_dimension,
  f.payload->>'nearest_neighbour' AS nearest_neighbour,
  f.payload->>'nearest_centroid' AS nearest_centroid, f.payload->>'ridge' AS ridge,
  f.payload AS facts_json
FROM studies s
LEFT JOIN facts f ON f.kind = 'dataset' AND f.key = printf('%016x', s.data_fingerprint)
GROUP BY s.data_fingerprint;
)sql";

std::uint32_t big_endian(const unsigned char* bytes) {
  return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 |
         std::uint32_t{bytes[2]} << 8 | std::uint32_t{bytes[3]};
}

Result<void> fill(const fs::path& path) {
  DETOL_ASSIGN(auto database, sqlite::open_for_writing(path));
  DETOL_TRY(sqlite::reserve_checksums(database.get()));
  DETOL_TRY(sqlite::run(database.get(), "PRAGMA journal_mode=WAL; BEGIN"));
  DETOL_TRY(define(database.get()));
  const auto marks = fmt::format("PRAGMA application_id={}; PRAGMA user_version={}; COMMIT",
                                 kApplicationId, kSchemaVersion);
  return sqlite::run(database.get(), marks.c_str());
}

}  // namespace

Result<void> check_header(const fs::path& path) {
  constexpr std::size_t kHeader = 100;
  constexpr std::string_view kMagic("SQLite format 3\0", 16);
  const auto refuse = [&](std::string_view what) {
    return fail(ErrorCode::kStorage, fmt::format("{}: {}", path.string(), what));
  };
  std::array<unsigned char, kHeader> header{};
  std::ifstream file(path, std::ios::binary);
  if (!file.read(reinterpret_cast<char*>(header.data()), kHeader)) {
    if (!file.is_open() || file.bad()) return refuse("cannot be read; check its permissions");
    return refuse("not a database, or truncated; restore a backup, or pass another --storage");
  }
  if (std::memcmp(header.data(), kMagic.data(), kMagic.size()) != 0)
    return refuse("not a database, or damaged; restore a backup, or pass another --storage");
  if (big_endian(&header[68]) != static_cast<std::uint32_t>(kApplicationId))
    return refuse("not a detol database, or damaged; pass another --storage");
  const std::uint32_t version = big_endian(&header[60]);
  const bool has_checksums = version >= kFirstWithChecksums && version <= kSchemaVersion;
  if (has_checksums && header[20] != sqlite::kChecksumBytes)
    return refuse("its header is damaged; restore a backup");
  return check_version(path, version);
}

Result<void> check_version(const fs::path& path, std::int64_t version) {
  if (version >= 1 && version <= kSchemaVersion) return {};
  if (version > kSchemaVersion) {
    return fail(
        ErrorCode::kStorage,
        fmt::format("{}: its schema is version {}, this detol knows up to {}; use the newer "
                    "detol that wrote it",
                    path.string(), version, kSchemaVersion));
  }
  return fail(ErrorCode::kStorage,
              fmt::format("{}: its schema is version {}, which no detol ever wrote; the file is "
                          "damaged: restore a backup",
                          path.string(), version));
}

Result<int> schema_version(sqlite3* database) {
  DETOL_ASSIGN(auto row, sqlite::Statement::prepare(database, "PRAGMA user_version"));
  DETOL_TRY(row.step());
  const std::int64_t version = row.integer(0);
  DETOL_TRY(check_version(sqlite3_db_filename(database, "main"), version));
  return static_cast<int>(version);
}

Result<void> define(sqlite3* database) {
  DETOL_TRY(sqlite::run(database, kTables));
  DETOL_TRY(define_model_index(database));
  DETOL_TRY(define_progress(database));
  DETOL_TRY(define_facts(database));
  return define_views(database);
}

Result<void> define_progress(sqlite3* database) {
  return sqlite::run(database, kProgress);
}

Result<void> define_model_index(sqlite3* database) {
  return sqlite::run(database, kModelIndex);
}

Result<void> define_views(sqlite3* database) {
  DETOL_TRY(sqlite::run(database, kViews));
  return define_fact_views(database);
}

Result<void> create_database(const fs::path& path) {
  DETOL_ASSIGN(const fs::path fresh,
               create_beside(path).map([](const FreshFile& empty) { return empty.path; }));
  const auto sweep = [&] {
    std::error_code ignored;
    for (const char* tail : {"", "-wal", "-shm", "-journal"})
      fs::remove(fresh.string() + tail, ignored);
  };
  if (auto filled = fill(fresh); !filled) {
    sweep();
    return fail(ErrorCode::kStorage,
                fmt::format("cannot create {}: {}", path.string(), filled.error().message));
  }
  auto renamed = rename_durably(fresh, path);
  if (!renamed) sweep();
  return renamed;
}

}  // namespace detol::inline knowledge
