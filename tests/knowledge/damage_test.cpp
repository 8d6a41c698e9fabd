// Flipped bits: every result is the right one or an error.

#include <algorithm>
#include <fstream>

#include <sqlite3.h>

#include "core/file.h"
#include "core/rng.h"
#include "knowledge/check.h"
#include "knowledge/storage/page_checksums.h"
#include "knowledge/storage/sqlite.h"
#include "tests/knowledge/support.h"

namespace detol {
namespace {

namespace fs = std::filesystem;
using testing_support::asked;
using testing_support::complete;
using testing_support::describe;
using testing_support::Folder;
using testing_support::must;
using testing_support::OneStudy;
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

// Lets a program that knows nothing of checksums move the log into the file.
void checkpoint_plainly(const fs::path& path) {
  sqlite3* raw = nullptr;
  ASSERT_EQ(sqlite3_open_v2(path.c_str(), &raw, SQLITE_OPEN_READWRITE, "unix"), SQLITE_OK);
  const sqlite::Database plain(raw);
  must(sqlite::run(plain.get(), "PRAGMA wal_checkpoint(TRUNCATE)"));
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

}  // namespace
}  // namespace detol
