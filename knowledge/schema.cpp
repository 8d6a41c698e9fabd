#include <fmt/format.h>

#include <array>
#include <cstring>
#include <fstream>
#include <system_error>

#include "core/durable_file.h"
#include "knowledge/file_system_impl.h"
#include "knowledge/schema_impl.h"

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

CREATE TABLE progress (
  study INTEGER PRIMARY KEY,
  state TEXT NOT NULL,
  budget TEXT NOT NULL,
  wall_seconds REAL NOT NULL,
  device_seconds REAL NOT NULL,
  last_seq INTEGER NOT NULL,
  checksum INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE events (
  study INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  kind TEXT NOT NULL,
  trial INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  epoch INTEGER NOT NULL,
  copy INTEGER NOT NULL,
  payload TEXT NOT NULL,
  cells INTEGER NOT NULL,
  checksum INTEGER NOT NULL,
  PRIMARY KEY (study, seq)
) WITHOUT ROWID;

CREATE UNIQUE INDEX events_by_trial ON events (study, trial, kind, attempt, epoch, copy);

CREATE TABLE params (
  study INTEGER NOT NULL,
  trial INTEGER NOT NULL,
  name TEXT NOT NULL,
  value,
  PRIMARY KEY (study, trial, name)
) WITHOUT ROWID;

CREATE TABLE metrics (
  study INTEGER NOT NULL,
  trial INTEGER NOT NULL,
  epoch INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  name TEXT NOT NULL,
  value REAL,
  PRIMARY KEY (study, trial, epoch, attempt, name)
) WITHOUT ROWID;
)sql";

constexpr const char* kWriter = R"sql(
CREATE TABLE writer (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  database INTEGER NOT NULL,
  token INTEGER NOT NULL
) WITHOUT ROWID;
)sql";

// Without INDEXED BY the planner finds max(seq) of one trial by walking the whole study.
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
  coalesce(report.epoch, 0) AS epochs,
  coalesce((SELECT sum(r.payload->>'train_s') FROM events r INDEXED BY events_by_trial
            WHERE r.study = a.study AND r.trial = a.trial AND r.kind = 'reported'),
           0.0) AS device_seconds,
  (SELECT r.payload->>'at' FROM events r INDEXED BY events_by_trial
   WHERE r.study = a.study AND r.trial = a.trial AND r.kind = 'started'
   ORDER BY r.attempt LIMIT 1) AS started,
  CASE last.kind WHEN 'told' THEN told.payload->>'at' END AS finished,
  CASE WHEN report.seq IS NOT NULL
       THEN (SELECT m.value FROM metrics m WHERE m.study = a.study AND m.trial = a.trial
             AND m.epoch = report.epoch AND m.attempt = report.attempt AND m.name = s.metric)
       ELSE (SELECT v.atom FROM json_each(told.payload, '$.values') v
             WHERE v.key = s.metric AND v.type IN ('real', 'integer')) END AS value,
  coalesce(report.payload->'metrics', told.payload->'values') AS values_json,
  a.payload->'params' AS params_json
FROM studies s JOIN events a ON a.study = s.id AND a.kind = 'asked'
LEFT JOIN events told ON told.study = a.study AND told.seq =
  (SELECT max(e.seq) FROM events e INDEXED BY events_by_trial WHERE e.study = a.study
   AND e.trial = a.trial AND e.kind = 'told')
LEFT JOIN events report ON report.study = a.study AND report.seq =
  (SELECT e.seq FROM events e INDEXED BY events_by_trial WHERE e.study = a.study
   AND e.trial = a.trial AND e.kind = 'reported' ORDER BY e.attempt DESC, e.epoch DESC LIMIT 1)
LEFT JOIN events last ON last.study = a.study AND last.seq =
  (SELECT max(e.seq) FROM events e INDEXED BY events_by_trial WHERE e.study = a.study
   AND e.trial = a.trial AND e.kind IN ('asked', 'started', 'told', 'requeued'));

CREATE VIEW v_params AS
SELECT s.name AS study, p.trial AS trial, p.name AS name, p.value AS value
FROM studies s JOIN params p ON p.study = s.id;

CREATE VIEW v_metrics AS
SELECT s.name AS study, m.trial AS trial, m.epoch AS epoch, m.name AS name, m.value AS value
FROM studies s JOIN metrics m ON m.study = s.id
WHERE NOT EXISTS (SELECT 1 FROM metrics n WHERE n.study = m.study AND n.trial = m.trial
                  AND n.epoch = m.epoch AND n.attempt > m.attempt);

CREATE VIEW v_studies AS
SELECT s.name AS study, p.state AS state, p.budget AS budget, s.metric AS metric,
  s.objectives->>'$[0].direction' AS direction, s.objectives AS objectives_json,
  s.created AS created, p.wall_seconds AS wall_seconds, p.device_seconds AS device_seconds,
  printf('%016x', s.data_fingerprint) AS dataset,
  (SELECT count(*) FROM events e INDEXED BY events_by_trial
   WHERE e.study = s.id AND e.kind = 'asked') AS trials,
  s.config AS config
FROM studies s JOIN progress p ON p.study = s.id;

CREATE VIEW v_workers AS
SELECT s.name AS study, b.payload->>'worker' AS worker, count(DISTINCT b.seq) AS starts,
  count(DISTINCT b.trial) AS trials, count(r.seq) AS epochs,
  coalesce(sum(r.payload->>'train_s'), 0.0) AS device_seconds,
  min(b.payload->>'at') AS first_started, max(b.payload->>'at') AS last_started
FROM studies s JOIN events b ON b.study = s.id AND b.kind = 'started'
LEFT JOIN events r INDEXED BY events_by_trial ON r.study = b.study AND r.trial = b.trial
  AND r.kind = 'reported' AND r.attempt = b.attempt
GROUP BY s.id, b.payload->>'worker';

CREATE VIEW v_datasets AS
SELECT printf('%016x', s.data_fingerprint) AS dataset, count(*) AS studies,
  min(s.created) AS first_used, max(s.created) AS last_used
FROM studies s GROUP BY s.data_fingerprint;
)sql";

Result<void> define(sqlite3* database) {
  DETOL_TRY(sqlite::run(database, kTables));
  DETOL_TRY(define_writer(database));
  return sqlite::run(database, kViews);
}

// Returns the definitions in an order that VACUUM keeps.
Result<std::string> definitions(sqlite3* database, bool with_writer) {
  DETOL_ASSIGN(auto rows,
               sqlite::Statement::prepare(database,
                                          "SELECT type, name, tbl_name, sql FROM sqlite_schema "
                                          "WHERE ?1 OR name <> 'writer' ORDER BY type, name"));
  rows.bind(1, with_writer ? 1 : 0);
  std::string all;
  while (true) {
    DETOL_ASSIGN(const bool more, rows.step());
    if (!more) return all;
    for (int column = 0; column < 4; ++column) all.append(rows.text(column)).push_back('\n');
  }
}

std::uint32_t big_endian(const unsigned char* bytes) {
  return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 |
         std::uint32_t{bytes[2]} << 8 | std::uint32_t{bytes[3]};
}

Result<void> fill(const fs::path& path) {
  DETOL_ASSIGN(auto database, sqlite::open_for_writing(path));
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
  return check_version(path, big_endian(&header[60]));
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

Result<void> define_writer(sqlite3* database) {
  return sqlite::run(database, kWriter);
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

Result<void> check_definitions(sqlite3* database) {
  DETOL_ASSIGN(auto model, sqlite::open(":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE));
  DETOL_TRY(define(model.get()));
  DETOL_ASSIGN(const int version, schema_version(database));
  const bool with_writer = version > 1;  // a migration will replace the table
  DETOL_ASSIGN(const std::string expected, definitions(model.get(), with_writer));
  DETOL_ASSIGN(const std::string found, definitions(database, with_writer));
  if (found == expected) return {};
  return fail(ErrorCode::kStorage,
              fmt::format("{}: its table definitions are damaged; restore a backup",
                          sqlite3_db_filename(database, "main")));
}

}  // namespace detol::inline knowledge
