// Restore, recover and vacuum: they go back to a sound state and lose nothing that was there.

#include "knowledge/maintenance.h"

#include <fmt/format.h>
#include <signal.h>
#include <stdlib.h>

#include <fstream>

#include "core/file.h"
#include "knowledge/backup.h"
#include "knowledge/check.h"
#include "knowledge/studies.h"
#include "tests/knowledge/support.h"

namespace detol {
namespace {

namespace fs = std::filesystem;
using testing_support::asked;
using testing_support::Folder;
using testing_support::must;
using testing_support::OneStudy;
using testing_support::study_named;

void write(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

std::size_t trials_in(const fs::path& path) {
  return must(must(Reader::open(path))->events(1)).size();
}

// Writes a database and its log as a kill leaves them: trials 0 and 1, a transaction each.
void leave_killed(const fs::path& path) {
  OneStudy one;
  one.append({asked(0)});
  one.append({asked(1)});
  for (const char* tail : {"", "-wal"})
    fs::copy_file(one.path.string() + tail, path.string() + tail);
}

// Changes byte `at`, counted from the end of the log of leave_killed().
void damage_log(const fs::path& path, std::size_t at) {
  const fs::path log = path.string() + "-wal";
  std::string bytes = must(read_file(log));
  bytes[bytes.size() - at] ^= 4;
  write(log, bytes);
}

// ---- restore

TEST(Restore, PutsTheBackupInPlaceAndKeepsWhatWasThere) {
  OneStudy one;
  one.append({asked(0)});
  must(back_up(one.path, one.folder / "copy.db", false));
  one.append({asked(1)});
  one.ledger.reset();
  const std::string before = must(read_file(one.path));
  const auto kept = must(restore(one.path, one.folder / "copy.db"));
  EXPECT_EQ(trials_in(one.path), 1U);
  ASSERT_TRUE(kept);
  EXPECT_EQ(must(read_file(*kept)), before);
  EXPECT_TRUE(fs::exists(one.folder / "copy.db"));
  must(must(Ledger::open(one.path))->append(1, std::vector<Event>{asked(7)}));
}

TEST(Restore, KeepsADamagedLogWithItsDatabase) {
  OneStudy one;
  must(back_up(one.path, one.folder / "copy.db", false));
  const auto path = one.folder / "killed.db";
  leave_killed(path);
  damage_log(path, 10000);
  const std::string log = must(read_file(path.string() + "-wal"));
  const auto kept = must(restore(path, one.folder / "copy.db"));
  EXPECT_EQ(must(read_file(kept->string() + "-wal")), log);
  EXPECT_FALSE(fs::exists(path.string() + "-wal"));
  EXPECT_EQ(must(check(path)), std::vector<std::string>{});
}

TEST(Restore, NeverReplacesWhatAnEarlierOneKept) {
  OneStudy one;
  must(back_up(one.path, one.folder / "copy.db", false));
  one.ledger.reset();
  const auto first = must(restore(one.path, one.folder / "copy.db"));
  const auto second = must(restore(one.path, one.folder / "copy.db"));
  EXPECT_NE(*first, *second);
  EXPECT_TRUE(fs::exists(*first));
}

TEST(Restore, MakesAMissingDatabase) {
  OneStudy one;
  one.append({asked(0)});
  must(back_up(one.path, one.folder / "copy.db", false));
  EXPECT_FALSE(must(restore(one.folder / "new.db", one.folder / "copy.db")));
  EXPECT_EQ(trials_in(one.folder / "new.db"), 1U);
}

TEST(Restore, OfADamagedBackupIsRefusedAndChangesNothing) {
  OneStudy one;
  one.append({asked(0)});
  must(back_up(one.path, one.folder / "copy.db", false));
  one.ledger.reset();
  std::string bytes = must(read_file(one.folder / "copy.db"));
  bytes[bytes.find("evolution")] = 'E';
  write(one.folder / "copy.db", bytes);
  const std::string before = must(read_file(one.path));
  const auto restored = restore(one.path, one.folder / "copy.db");
  ASSERT_FALSE(restored);
  EXPECT_NE(restored.error().message.find("damaged"), std::string::npos);
  EXPECT_EQ(must(read_file(one.path)), before);
  EXPECT_FALSE(fs::exists(one.path.string() + ".restoring"));
}

TEST(Restore, OfABackupThatIsNotThereMakesNothing) {
  Folder folder;
  const auto restored = restore(folder / "detol.db", folder / "none");
  ASSERT_FALSE(restored);
  EXPECT_NE(restored.error().message.find("there is no backup"), std::string::npos);
  EXPECT_EQ(folder.size(), 0U);
}

TEST(Restore, IsRefusedWhileAMasterLives) {
  OneStudy one;
  must(back_up(one.path, one.folder / "copy.db", false));
  const auto restored = restore(one.path, one.folder / "copy.db");
  ASSERT_FALSE(restored);
  EXPECT_NE(restored.error().message.find("is being written by process"), std::string::npos);
}

TEST(Restore, OfTheDatabaseItselfIsRefused) {
  OneStudy one;
  one.ledger.reset();
  EXPECT_FALSE(restore(one.path, one.path));
  EXPECT_EQ(must(check(one.path)), std::vector<std::string>{});
}

class KilledRestore : public testing::TestWithParam<const char*> {};

// The child of a death test runs the test again; the variable names the folder of its parent.
TEST_P(KilledRestore, IsRefusedUntilItIsDoneAgain) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Folder folder;
  ::setenv("DETOL_TEST_RESTORED", folder.path().c_str(), 0);
  const fs::path place = std::getenv("DETOL_TEST_RESTORED");
  const fs::path path = place / "detol.db";
  if (place == folder.path()) {
    OneStudy one;
    must(back_up(one.path, place / "copy.db", false));
    leave_killed(path);
  }
  EXPECT_EXIT(
      {
        fs::remove_all(folder.path());  // the child's own
        ::setenv("DETOL_FAULT", fmt::format("restore.aside:{}:kill", GetParam()).c_str(), 1);
        (void)restore(path, place / "copy.db");
      },
      testing::KilledBySignal(SIGKILL), "");
  ::unsetenv("DETOL_TEST_RESTORED");
  const auto ledger = Ledger::open(path);
  const auto reader = Reader::open(path);
  ASSERT_FALSE(ledger || reader);
  for (const Error& error : {ledger.error(), reader.error()}) {
    EXPECT_NE(error.message.find("`detol db restore` was interrupted; run it again"),
              std::string::npos)
        << error.message;
  }
  must(restore(path, place / "copy.db"));
  EXPECT_EQ(trials_in(path), 0U);
  EXPECT_EQ(trials_in(path.string() + ".before-restore"), 2U);
}

INSTANTIATE_TEST_SUITE_P(Moments, KilledRestore, testing::Values("1", "2", "3"));

// ---- recover

TEST(Recover, KeepsWhatPrecedesTheDamageAndTheDamagedLog) {
  Folder folder;
  const auto path = folder / "detol.db";
  leave_killed(path);
  const std::string sound = must(read_file(path.string() + "-wal"));
  damage_log(path, 3 * 4120 + 100);
  const std::string damaged = must(read_file(path.string() + "-wal"));
  ASSERT_FALSE(Reader::open(path));
  const auto kept = must(recover(path));
  ASSERT_TRUE(kept);
  EXPECT_EQ(must(read_file(*kept)), damaged);
  EXPECT_TRUE(sound.starts_with(must(read_file(path.string() + "-wal"))));
  EXPECT_EQ(must(check(path)), std::vector<std::string>{});
  EXPECT_LT(trials_in(path), 2U);
  must(must(Ledger::open(path))->append(1, std::vector<Event>{asked(5)}));
}

TEST(Recover, FindsNothingToDoInASoundLog) {
  Folder folder;
  leave_killed(folder / "detol.db");
  EXPECT_FALSE(must(recover(folder / "detol.db")));
  EXPECT_EQ(trials_in(folder / "detol.db"), 2U);
}

// A checkpoint has moved all of the log into the file, so that the damaged part is not needed.
TEST(Recover, LosesNothingThatACheckpointHadMoved) {
  OneStudy one;
  const auto size = fs::file_size(one.path);
  TrialId trials = 0;
  while (fs::file_size(one.path) == size) one.append({asked(trials++)});
  const auto path = one.folder / "killed.db";
  for (const char* tail : {"", "-wal"})
    fs::copy_file(one.path.string() + tail, path.string() + tail);
  damage_log(path, fs::file_size(path.string() + "-wal") / 2);
  ASSERT_FALSE(Reader::open(path));
  EXPECT_TRUE(must(recover(path)));
  EXPECT_EQ(trials_in(path), static_cast<std::size_t>(trials));
}

TEST(Recover, RefusesWhatIsNotWholeAndLeavesItAsItWas) {
  OneStudy one;
  one.append({asked(0)});
  one.reopen();  // which moves the log into the file
  one.append({asked(1)});
  std::string file = must(read_file(one.path));
  file[file.find("evolution")] = 'E';
  std::string log = must(read_file(one.path.string() + "-wal"));
  log[3] ^= 1;
  const auto path = one.folder / "killed.db";
  write(path, file);
  write(path.string() + "-wal", log);
  const auto recovered = recover(path);
  ASSERT_FALSE(recovered);
  EXPECT_NE(recovered.error().message.find("restore a backup"), std::string::npos);
  EXPECT_EQ(must(read_file(path.string() + "-wal")), log);
  EXPECT_EQ(must(read_file(path)), file);
}

TEST(Recover, IsRefusedWhileAMasterLives) {
  OneStudy one;
  EXPECT_FALSE(recover(one.path));
}

class KilledRecover : public testing::TestWithParam<const char*> {};

// Kills recover() at every step, as KilledRestore does restore().
TEST_P(KilledRecover, IsRefusedUntilItIsDoneAgain) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Folder folder;
  ::setenv("DETOL_TEST_RECOVERED", folder.path().c_str(), 0);
  const fs::path place = std::getenv("DETOL_TEST_RECOVERED");
  const fs::path path = place / "detol.db";
  if (place == folder.path()) {
    leave_killed(path);
    damage_log(path, 3 * 4120 + 100);
  }
  EXPECT_EXIT(
      {
        fs::remove_all(folder.path());  // the child's own
        ::setenv("DETOL_FAULT", fmt::format("recover.log:{}:kill", GetParam()).c_str(), 1);
        (void)recover(path);
      },
      testing::KilledBySignal(SIGKILL), "");
  ::unsetenv("DETOL_TEST_RECOVERED");
  const auto ledger = Ledger::open(path);
  ASSERT_FALSE(ledger);
  EXPECT_NE(ledger.error().message.find("interrupted"), std::string::npos);
  const auto kept = must(recover(path));
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->filename(), "detol.db-wal.damaged");
  EXPECT_EQ(must(check(path)), std::vector<std::string>{});
}

INSTANTIATE_TEST_SUITE_P(Moments, KilledRecover, testing::Values("1", "2"));

// ---- vacuum

TEST(Vacuum, GivesTheRoomOfDeletedStudiesBack) {
  OneStudy one;
  const StudyId other = must(one.ledger->create_study(study_named("t")));
  for (TrialId trial = 0; trial < 500; ++trial)
    must(one.ledger->append(other, std::vector<Event>{asked(trial)}));
  one.append({asked(0)});
  one.ledger.reset();
  must(delete_study(one.path, "t"));
  const Vacuumed sizes = must(vacuum(one.path));
  EXPECT_LT(sizes.bytes_after, sizes.bytes_before / 2);
  EXPECT_EQ(must(check(one.path)), std::vector<std::string>{});
  EXPECT_EQ(trials_in(one.path), 1U);
  must(must(Ledger::open(one.path))->append(1, std::vector<Event>{asked(1)}));
}

TEST(Vacuum, OfADamagedDatabaseIsRefused) {
  OneStudy one;
  for (TrialId trial = 0; trial < 30; ++trial) one.append({asked(trial)});
  one.ledger.reset();
  std::string bytes = must(read_file(one.path));
  bytes[bytes.find("evolution")] = 'E';
  write(one.path, bytes);
  EXPECT_FALSE(vacuum(one.path));
}

TEST(Vacuum, IsRefusedWhileAMasterLives) {
  OneStudy one;
  const auto done = vacuum(one.path);
  ASSERT_FALSE(done);
  EXPECT_NE(done.error().message.find("is being written by process"), std::string::npos);
}

}  // namespace
}  // namespace detol
