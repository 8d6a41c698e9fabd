// Flipped bits: every result is the right one or an error.

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

#include <sqlite3.h>

#include "core/file.h"
#include "core/rng.h"
#include "knowledge/check.h"
#include "knowledge/facts.h"
#include "knowledge/storage/page_checksums.h"
#include "knowledge/storage/sqlite.h"
#include "tests/knowledge/support.h"
#include "tests/support/other_program.h"

namespace detol {
namespace {

namespace fs = std::filesystem;
using testing_support::asked;
using testing_support::complete;
using testing_support::describe;
using testing_support::Folder;
using testing_support::must;
using testing_support::OneStudy;
using testing_support::OtherProgram;
using testing_support::reported;
using testing_support::started;

const char* const kQueries[] = {
    "SELECT * FROM v_trials ORDER BY trial",
    "SELECT * FROM v_params ORDER BY trial, name",
    "SELECT * FROM v_metrics ORDER BY trial, epoch, name",
    "SELECT * FROM v_workers ORDER BY worker",
    "SELECT * FROM v_models ORDER BY model",
    "SELECT * FROM v_studies",
    "SELECT * FROM v_datasets",
    "SELECT * FROM v_networks",
    "SELECT value FROM v_trials WHERE study = 's' AND trial = 11",
    "SELECT value FROM v_metrics WHERE study = 's' AND trial = 7 AND epoch = 2",
};

// Returns the results of all reads of a database; a read that is refused gives "error ...".
std::vector<std::string> answers(const fs::path& path) {
  auto reader = Reader::open(path);
  if (!reader) return {"error " + reader.error().message};
  std::vector<std::string> lines;
  const auto study = (*reader)->study("s");
  lines.push_back(study ? study->config + study->budget + std::string(to_text(study->state))
                        : "error");
  const auto events = (*reader)->events(1);
  lines.push_back("error");
  if (events) {
    lines.back().clear();
    for (const Event& event : *events) lines.back() += describe(event) + "\n";
  }
  for (const char* query : kQueries) {
    const auto rows = (*reader)->select(query);
    lines.push_back("error");
    if (!rows) continue;
    lines.back().clear();
    for (const auto& row : rows->rows) lines.back() += describe(row) + "\n";
  }
  return lines;
}

// A database, and the log that a kill left beside it, if any.
struct Files {
  std::string file, log;

  void put(const fs::path& path) const {
    std::ofstream(path, std::ios::binary) << file;
    fs::remove(path.string() + "-shm");
    if (!log.empty()) std::ofstream(path.string() + "-wal", std::ios::binary) << log;
  }
};

void fill(OneStudy& one) {
  for (TrialId trial = 0; trial < 30; ++trial) {
    const double accuracy = 1.0 / (1.0 + static_cast<double>(trial));
    one.append({asked(trial), started(trial, 1), reported(trial, 1, 1, accuracy),
                reported(trial, 1, 2, accuracy),
                event::Requeued{trial, 1, requeue_reason_from("lost")}, started(trial, 2),
                reported(trial, 2, 3, accuracy), complete(trial, accuracy)});
  }
  one.append({event::Refit{"gp", 1, 30, {0.1, 3}, 98}, event::Accounted{60, 120},
              event::StudyState{StudyPhase::kDone, "1cpu-h", 99}});
}

std::string small_database() {
  OneStudy one;
  fill(one);
  one.ledger.reset();
  return must(read_file(one.path));
}

// Returns a database whose last trials are in the log only.
Files killed_database() {
  OneStudy one;
  fill(one);
  one.reopen();
  for (TrialId trial = 30; trial < 34; ++trial) one.append({asked(trial)});
  return {must(read_file(one.path)), must(read_file(one.path.string() + "-wal"))};
}

bool refuses(const std::vector<std::string>& found) {
  return std::any_of(found.begin(), found.end(),
                     [](const std::string& line) { return line.starts_with("error"); });
}

bool is_sound(const fs::path& path) {
  const auto problems = check(path);
  return problems && problems->empty();
}

struct Tally {
  int refused = 0;
  int harmless = 0;
};

// Flips random bits of the file, one at a time, and compares all results with the undamaged ones.
Tally flip_bits(const Files& sound, int flips, std::uint64_t seed) {
  Folder folder;
  const auto path = folder / "detol.db";
  sound.put(path);
  const auto expected = answers(path);
  Rng rng(seed);
  Tally tally;
  for (int i = 0; i < flips; ++i) {
    const std::size_t at = rng.below(sound.file.size());
    const int bit = static_cast<int>(rng.below(8));
    Files damaged = sound;
    damaged.file[at] = static_cast<char>(damaged.file[at] ^ (1 << bit));
    damaged.put(path);
    const auto found = answers(path);
    const bool is_refused = refuses(found);
    for (std::size_t line = 0; line < found.size(); ++line) {
      if (found[line].starts_with("error")) continue;
      EXPECT_EQ(found[line], expected[line]) << "byte " << at << " bit " << bit;
    }
    if (is_refused) {
      EXPECT_FALSE(is_sound(path)) << "byte " << at << " bit " << bit;
    }
    ++(is_refused ? tally.refused : tally.harmless);
  }
  return tally;
}

TEST(Damage, NoFlippedBitChangesAnAnswer) {
  const Tally tally = flip_bits({small_database(), ""}, 120, 20261120);
  EXPECT_GT(tally.refused, 30);
  RecordProperty("refused", tally.refused);
  RecordProperty("harmless", tally.harmless);
}

TEST(Damage, NoFlippedBitOfAKilledStudysFileChangesAnAnswer) {
  const Tally tally = flip_bits(killed_database(), 60, 20261123);
  EXPECT_GT(tally.refused, 10);
}

TEST(Damage, ASoundDatabaseHasNoProblems) {
  Folder folder;
  std::ofstream(folder / "detol.db", std::ios::binary) << small_database();
  EXPECT_EQ(must(check(folder / "detol.db")), std::vector<std::string>{});
}

TEST(Damage, TheLedgerNamesTheDamagedEvent) {
  Folder folder;
  std::string bytes = small_database();
  const auto at = bytes.find("\"val_accuracy\":0.5");
  ASSERT_NE(at, std::string::npos);
  bytes[at + 17] = '6';
  std::ofstream(folder / "detol.db", std::ios::binary) << bytes;
  const auto ledger = must(Ledger::open(folder / "detol.db"));
  const auto events = ledger->events(1);
  ASSERT_FALSE(events);
  EXPECT_EQ(events.error().code, ErrorCode::kStorage);
  EXPECT_NE(events.error().message.find("of study 's' is damaged"), std::string::npos)
      << events.error().message;
}

// Returns another value for a column, in SQL.
std::string another(const std::string& column) {
  if (column == "objectives") return "replace(objectives, 'maximize', 'minimize')";
  if (column == "best_is_known") return "1 - best_is_known";
  return fmt::format(
      "CASE typeof({0}) WHEN 'text' THEN {0} || ' ' WHEN 'null' THEN 1 ELSE {0} + 1000 END",
      column);
}

// Pages have sound checksums here, so that only the row's own can tell.
TEST(Damage, OfAnyColumnOfAnyRowIsFound) {
  for (const std::string table : {"studies", "progress", "events", "facts"}) {
    OneStudy one;
    fill(one);
    must(one.ledger->record_facts(std::vector{Fact{kHostFact, "00aa", "{}"}}));
    one.ledger.reset();
    const std::string bytes = must(read_file(one.path));
    const auto columns =
        must(must(Reader::open(one.path))->select("SELECT * FROM " + table)).columns;
    ASSERT_FALSE(columns.empty());
    for (const std::string& column : columns) {
      Files{bytes, ""}.put(one.path);
      {
        const auto database = must(sqlite::open(one.path.string(), SQLITE_OPEN_READWRITE));
        const auto change = fmt::format("UPDATE {} SET {} = {} {}", table, column, another(column),
                                        table == "events" ? "WHERE seq = 5" : "");
        must(sqlite::run(database.get(), change.c_str()));
        EXPECT_EQ(sqlite3_changes(database.get()), 1) << table << '.' << column;
      }
      EXPECT_FALSE(is_sound(one.path)) << table << '.' << column;
    }
  }
}

// Lets a program that knows nothing of checksums move the log into the file.
void checkpoint_plainly(const fs::path& path) {
  OtherProgram(path).run("PRAGMA wal_checkpoint(TRUNCATE)");
}

// Returns a database all of whose pages, the first included, another program wrote.
std::string database_of_another_program() {
  Folder folder;
  Files killed = killed_database();
  killed.put(folder / "detol.db");
  OtherProgram(folder / "detol.db").run("VACUUM; PRAGMA journal_mode=DELETE");
  return must(read_file(folder / "detol.db"));
}

std::int64_t stale_pages(const fs::path& path) {
  return sqlite::count_stale_pages(must(sqlite::open(path.string(), SQLITE_OPEN_READONLY)).get());
}

TEST(Damage, PagesThatAnotherProgramWroteAreReadAndGetChecksums) {
  Folder folder;
  const auto path = folder / "detol.db";
  killed_database().put(path);
  const auto expected = answers(path);
  checkpoint_plainly(path);
  ASSERT_GT(stale_pages(path), 0);
  EXPECT_EQ(answers(path), expected);
  EXPECT_TRUE(is_sound(path));
  EXPECT_GT(stale_pages(path), 0);  // a reader changes nothing
  must(must(Ledger::open(path))->append(1, std::vector<Event>{asked(34)}));
  EXPECT_EQ(stale_pages(path), 0);
}

// Writes a row of one history into another, as a disk would that lost a write.
TEST(Damage, ARowOfAnotherHistoryIsFound) {
  OneStudy one, other;
  one.append({asked(0), started(0, 1), reported(0, 1, 1, 0.5)});
  other.append({asked(0), started(0, 1), reported(0, 1, 1, 0.6)});
  one.ledger.reset();
  {
    const auto database = must(sqlite::open(one.path.string(), SQLITE_OPEN_READWRITE));
    const std::string attach = "ATTACH '" + other.path.string() + "' AS other";
    must(sqlite::run(database.get(), attach.c_str()));
    must(sqlite::run(database.get(),
                     "REPLACE INTO events SELECT * FROM other.events WHERE kind = 'reported'"));
  }
  const auto events = must(Reader::open(one.path))->events(1);
  ASSERT_FALSE(events);
  EXPECT_NE(events.error().message.find("the list of events of study 's' is damaged"),
            std::string::npos)
      << events.error().message;
  EXPECT_FALSE(is_sound(one.path));
}

TEST(Damage, BehindPagesThatAnotherProgramWroteIsFound) {
  Files files;
  {
    Folder folder;
    killed_database().put(folder / "detol.db");
    checkpoint_plainly(folder / "detol.db");
    files.file = must(read_file(folder / "detol.db"));
  }
  const Tally tally = flip_bits(files, 40, 20261124);
  EXPECT_GT(tally.refused, 10);
}

TEST(Damage, WhereAnotherProgramWroteAllPagesIsFound) {
  const std::string bytes = database_of_another_program();
  const Tally tally = flip_bits({bytes, ""}, 80, 20261128);
  EXPECT_GT(tally.refused, 20);
}

// The header has what no row and no index repeats, such as the schema's version.
TEST(Damage, OfAHeaderThatAnotherProgramWroteChangesNoAnswer) {
  Folder folder;
  const auto path = folder / "detol.db";
  const std::string bytes = database_of_another_program();
  Files{bytes, ""}.put(path);
  const auto expected = answers(path);
  Rng rng(20261129);
  for (std::size_t at = 0; at < 100; ++at) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << rng.below(8)));
    Files{damaged, ""}.put(path);
    const auto found = answers(path);
    if (!refuses(found)) {
      EXPECT_EQ(found, expected) << "byte " << at;
    }
  }
}

TEST(Damage, ThatMakesTheSchemaSeemOlderIsNotMigrated) {
  Folder folder;
  const auto path = folder / "detol.db";
  for (const int older : {12, 9, 5}) {
    std::string bytes = database_of_another_program();
    bytes[63] = static_cast<char>(older);
    Files{bytes, ""}.put(path);
    const auto reader = Reader::open(path);
    const auto ledger = Ledger::open(path);
    ASSERT_FALSE(reader);
    ASSERT_FALSE(ledger);
    for (const Error& error : {reader.error(), ledger.error()}) {
      EXPECT_EQ(error.code, ErrorCode::kStorage);
      EXPECT_NE(error.message.find("is not of its schema's version"), std::string::npos)
          << error.message;
    }
    EXPECT_EQ(must(read_file(path))[63], older);
  }
}

std::string refusal_after(const std::string& sql) {
  Folder folder;
  const auto path = folder / "detol.db";
  killed_database().put(path);
  OtherProgram(path).run(sql);
  const auto reader = Reader::open(path);
  const auto ledger = Ledger::open(path);
  EXPECT_EQ(static_cast<bool>(reader), static_cast<bool>(ledger)) << sql;
  EXPECT_EQ(static_cast<bool>(reader), is_sound(path)) << sql;
  return reader ? std::string() : reader.error().message;
}

// What another program keeps in the file is let be; what would run within ours is named.
TEST(Damage, IsNotSaidOfTablesOfAnotherProgram) {
  EXPECT_EQ(refusal_after("CREATE TABLE mine (x); CREATE INDEX by_x ON mine (x); ANALYZE"), "");
}

TEST(Damage, IsNotSaidOfViewsTriggersAndIndexesOfAnotherProgramWhichAreRefusedByName) {
  const char* const kAdded[][2] = {
      {"view endless",
       "CREATE VIEW endless AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i "
       "FROM n) SELECT i FROM n"},
      {"trigger thief", "CREATE TRIGGER thief AFTER INSERT ON events BEGIN DELETE FROM facts; END"},
      {"index mine", "CREATE UNIQUE INDEX mine ON events (kind, seq, study)"}};
  for (const auto& [name, sql] : kAdded) {
    const std::string refusal = refusal_after(sql);
    EXPECT_NE(refusal.find(std::string(name) + " is of another program"), std::string::npos)
        << refusal;
  }
  const std::string changed =
      refusal_after("DROP VIEW v_trials; CREATE VIEW v_trials AS SELECT 1 AS trial");
  EXPECT_NE(changed.find("view v_trials is not as detol defined it"), std::string::npos) << changed;
}

}  // namespace
}  // namespace detol
