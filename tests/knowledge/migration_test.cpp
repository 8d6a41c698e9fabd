// This detol reads and writes databases of every schema version. golden/ has one of each, written
// by the detol of that time: v1.db by commit 68a0518.

#include <signal.h>
#include <stdlib.h>

#include <algorithm>
#include <fstream>

#include "core/file.h"
#include "knowledge/backup.h"
#include "knowledge/check.h"
#include "knowledge/migration_impl.h"
#include "knowledge/schema_impl.h"
#include "tests/knowledge/support.h"
#include "tests/support/other_program.h"

namespace detol {
namespace {

namespace fs = std::filesystem;
using testing_support::asked;
using testing_support::complete;
using testing_support::describe;
using testing_support::failed;
using testing_support::Folder;
using testing_support::must;
using testing_support::reported;
using testing_support::started;
using testing_support::study_named;

struct GoldenFile {
  const char* name;
  int version;
};
constexpr GoldenFile kGoldenFiles[] = {
    {"v1.db", 1},   {"v2.db", 2},   {"v3.db", 3},  {"v4.db", 4}, {"v5.db", 5},
    {"v6.db", 6},   {"v7.db", 7},   {"v8.db", 8},  {"v9.db", 9}, {"v10.db", 10},
    {"v11.db", 11}, {"v12.db", 12}, {"v13.db", 13}};

fs::path golden(const GoldenFile& file) {
  return fs::path(DETOL_SOURCE_DIR) / "tests/knowledge/golden" / file.name;
}

// Returns the events that every golden database holds.
std::vector<Event> golden_events() {
  std::vector<Event> events;
  for (TrialId trial = 0; trial < 3; ++trial) {
    events.insert(events.end(), {asked(trial), started(trial, 1), reported(trial, 1, 1, 0.5)});
  }
  events.insert(events.end(),
                {complete(0, 0.5), failed(1, Cause::kDiverged),
                 event::Requeued{2, 1, requeue_reason_from("lost")},
                 event::StudyState{StudyPhase::kStopped, "1cpu-h", 99}, event::Accounted{60, 120}});
  return events;
}

int version_of(const fs::path& path) {
  return static_cast<unsigned char>(must(read_file(path))[63]);
}

class Migration : public testing::TestWithParam<GoldenFile> {
 protected:
  Migration() { fs::copy_file(golden(GetParam()), path_); }

  bool is_old() const { return GetParam().version < kSchemaVersion; }
  fs::path backup() const {
    return path_.string() + ".v" + std::to_string(GetParam().version) + ".backup";
  }

  Folder folder_;
  fs::path path_ = folder_ / "detol.db";
};

TEST_P(Migration, AWriterFindsAllEventsAndGoesOn) {
  const auto ledger = must(Ledger::open(path_));
  EXPECT_EQ(describe(must(ledger->events(1))), describe(golden_events()));
  must(ledger->append(1, std::vector<Event>{asked(3)}));
  EXPECT_EQ(must(must(Reader::open(path_))->select("SELECT * FROM v_trials")).rows.size(), 4U);
}

TEST_P(Migration, GoesOnWhereAnotherProgramHasWritten) {
  testing_support::OtherProgram(path_).run("VACUUM");
  EXPECT_EQ(must(must(Reader::open(path_))->select("SELECT * FROM v_trials")).rows.size(), 3U);
  EXPECT_TRUE(Ledger::open(path_));
  EXPECT_EQ(must(check(path_)), std::vector<std::string>{});
}

// A name is no SQL, and views of others are no business of a migration.
TEST_P(Migration, RefusesAViewOfAnotherProgramAndLeavesIt) {
  testing_support::OtherProgram(path_).run(
      "CREATE VIEW \"x; DROP TABLE events; --\" AS SELECT 1 AS one");
  const auto ledger = Ledger::open(path_);
  ASSERT_FALSE(ledger);
  EXPECT_NE(ledger.error().message.find("is of another program"), std::string::npos)
      << ledger.error().message;
  testing_support::OtherProgram(path_).run("DROP VIEW \"x; DROP TABLE events; --\"");
  EXPECT_TRUE(Ledger::open(path_));
}

TEST_P(Migration, AReaderSeesTheViewsOfThisVersion) {
  const auto reader = must(Reader::open(path_));
  const auto rows = must(reader->select(
      "SELECT trial, state, value, device_seconds, best_epoch FROM v_trials ORDER BY trial"));
  ASSERT_EQ(rows.rows.size(), 3U);
  EXPECT_EQ(describe(rows.rows[0]), "0|COMPLETE|0.5|2.5|1");
  EXPECT_EQ(describe(rows.rows[1]), "1|FAIL|0.5|2.5|1");
  EXPECT_EQ(describe(rows.rows[2]), "2|WAITING|0.5|2.5|1");
  EXPECT_EQ(version_of(path_), kSchemaVersion);
}

// Before version 8 a trial's value was of its last epoch.
TEST_P(Migration, ATrialOfAStudyThatWasBegunBeforeKeepsItsLastEpoch) {
  const auto ledger = must(Ledger::open(path_));
  must(ledger->append(1, std::vector<Event>{reported(2, 1, 2, 0.7), reported(2, 1, 3, 0.6)}));
  const auto rows = must(must(Reader::open(path_))
                             ->select("SELECT value, best_epoch, epochs FROM v_trials "
                                      "WHERE trial = 2"));
  EXPECT_EQ(describe(rows.rows.at(0)), "0.6|3|3");
}

TEST_P(Migration, KeepsAVerifiedBackupOfWhatItChanges) {
  must(Ledger::open(path_));
  ASSERT_EQ(fs::exists(backup()), is_old());
  EXPECT_EQ(must(check(path_)), std::vector<std::string>{});
  if (!is_old()) return;
  EXPECT_EQ(version_of(backup()), GetParam().version);
  EXPECT_EQ(must(check(backup())), std::vector<std::string>{});
  EXPECT_EQ(must(compare(path_, backup())), std::vector<std::string>{});
}

TEST_P(Migration, ChecksAndBacksUpAnOldOneWithoutMigratingIt) {
  EXPECT_EQ(must(check(path_)), std::vector<std::string>{});
  must(back_up(path_, folder_ / "copy.db", false));
  EXPECT_EQ(version_of(path_), GetParam().version);
  EXPECT_EQ(version_of(folder_ / "copy.db"), GetParam().version);
}

// The child of a death test runs the test again; the variable names the file of its parent.
TEST_P(Migration, KilledBeforeItsCommitIsDoneAgain) {
  if (!is_old()) GTEST_SKIP() << "is not migrated";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  ::setenv("DETOL_TEST_MIGRATED", path_.c_str(), 0);
  EXPECT_EXIT(
      {
        fs::remove_all(folder_.path());  // the child's own
        ::setenv("DETOL_FAULT", "schema.migrate:1:kill", 1);
        (void)Ledger::open(std::getenv("DETOL_TEST_MIGRATED"));
      },
      testing::KilledBySignal(SIGKILL), "");
  ::unsetenv("DETOL_TEST_MIGRATED");
  EXPECT_EQ(version_of(path_), GetParam().version);
  EXPECT_TRUE(fs::exists(backup()));
  EXPECT_EQ(must(check(path_)), std::vector<std::string>{});
  EXPECT_EQ(describe(must(must(Ledger::open(path_))->events(1))), describe(golden_events()));
}

TEST_P(Migration, OfADamagedOneChangesNothing) {
  if (!is_old()) GTEST_SKIP() << "is not migrated";
  std::string bytes = must(read_file(path_));
  bytes[bytes.find("evolution")] = 'E';
  std::ofstream(path_, std::ios::binary) << bytes;
  const auto ledger = Ledger::open(path_);
  ASSERT_FALSE(ledger);
  EXPECT_NE(ledger.error().message.find("damaged"), std::string::npos) << ledger.error().message;
  EXPECT_EQ(must(read_file(path_)), bytes);
}

INSTANTIATE_TEST_SUITE_P(Golden, Migration, testing::ValuesIn(kGoldenFiles), [](const auto& file) {
  const std::string name = file.param.name;
  return name.substr(0, name.find('.'));
});

// A new version of the schema needs its golden file: run this test with the variable set to its
// path.
TEST(Migrations, WriteTheGoldenFileOfThisVersion) {
  const char* path = std::getenv("DETOL_WRITE_GOLDEN");
  if (path == nullptr) GTEST_SKIP() << "only on demand";
  const auto ledger = must(Ledger::open(path));
  const Fact network{kNetworkFact, "00112233445566aa", R"({"graph":"1 3x8x8 p","params":0})"};
  must(ledger->append(must(ledger->create_study(study_named("s"))), golden_events(),
                      std::vector{network}));
}

TEST(Migrations, HaveAGoldenFileOfEveryVersion) {
  for (int version = 1; version <= kSchemaVersion; ++version) {
    EXPECT_TRUE(std::ranges::any_of(kGoldenFiles, [&](const GoldenFile& file) {
      return file.version == version;
    })) << version;
  }
}

TEST(Migrations, ANewerOneAndOneThatNeverWasGetTheRightAdvice) {
  struct Advice {
    char version;
    std::string says;
  };
  for (const Advice& advice :
       {Advice{kSchemaVersion + 1, "use the newer detol"}, Advice{0, "restore a backup"}}) {
    Folder folder;
    const auto path = folder / "detol.db";
    std::string bytes = must(read_file(golden(kGoldenFiles[0])));
    bytes[63] = advice.version;
    std::ofstream(path, std::ios::binary) << bytes;
    for (const Error& error : {Ledger::open(path).error(), Reader::open(path).error()}) {
      EXPECT_EQ(error.code, ErrorCode::kStorage);
      EXPECT_NE(error.message.find(advice.says), std::string::npos) << error.message;
    }
    EXPECT_EQ(must(read_file(path)), bytes);
  }
}

}  // namespace
}  // namespace detol
