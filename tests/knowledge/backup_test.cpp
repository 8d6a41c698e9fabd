// Backups are whole and verified, and no older copy is lost for a bad one.

#include "knowledge/backup.h"

#include <fstream>

#include "core/file.h"
#include "knowledge/check.h"
#include "knowledge/studies.h"
#include "tests/knowledge/support.h"

namespace detol {
namespace {

namespace fs = std::filesystem;
using testing_support::asked;
using testing_support::describe;
using testing_support::must;
using testing_support::OneStudy;
using testing_support::study_named;

TEST(Backup, OfALivingDatabaseHasAllThatWasAcknowledged) {
  OneStudy one;
  one.append({asked(0), asked(1)});  // only in the write-ahead log
  must(back_up(one.path, one.folder / "copy.db", false));
  one.append({asked(2)});
  EXPECT_EQ(must(check(one.folder / "copy.db")), std::vector<std::string>{});
  const auto copy = must(Reader::open(one.folder / "copy.db"));
  EXPECT_EQ(must(copy->events(1)).size(), 2U);
  EXPECT_EQ(must(count(one.folder / "copy.db")).trials, 2);
  for (const char* tail : {"-wal", "-shm", "-journal", ".tmp"})
    EXPECT_FALSE(fs::exists((one.folder / "copy.db").string() + tail)) << tail;
}

TEST(Backup, CanBePutBackAndWrittenBesideReaders) {
  OneStudy one;
  one.append({asked(0)});
  must(back_up(one.path, one.folder / "copy.db", false));
  const auto ledger = must(Ledger::open(one.folder / "copy.db"));
  must(ledger->append(1, std::vector<Event>{asked(1)}));
  EXPECT_TRUE(fs::exists((one.folder / "copy.db").string() + "-wal"));
  EXPECT_EQ(must(must(Reader::open(one.folder / "copy.db"))->events(1)).size(), 2U);
}

TEST(Backup, ReplacesAFileOnlyWhenToldTo) {
  OneStudy one;
  std::ofstream(one.folder / "copy.db") << "precious";
  const auto refused = back_up(one.path, one.folder / "copy.db", false);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kStorage);
  EXPECT_NE(refused.error().message.find("--force"), std::string::npos);
  EXPECT_EQ(must(read_file(one.folder / "copy.db")), "precious");
  must(back_up(one.path, one.folder / "copy.db", true));
  EXPECT_EQ(must(check(one.folder / "copy.db")), std::vector<std::string>{});
}

TEST(Backup, NeverReplacesTheDatabaseItself) {
  OneStudy one;
  fs::create_symlink(one.path, one.folder / "link.db");
  for (const fs::path& file : {one.path, one.folder / "link.db"}) {
    const auto refused = back_up(one.path, file, true);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("itself"), std::string::npos);
  }
}

TEST(Backup, OfADamagedDatabaseIsRefusedAndTheOlderStays) {
  OneStudy one;
  for (TrialId trial = 0; trial < 30; ++trial) one.append({asked(trial)});
  must(back_up(one.path, one.folder / "copy.db", false));
  const std::string older = must(read_file(one.folder / "copy.db"));
  one.ledger.reset();
  std::string bytes = must(read_file(one.path));
  const auto at = bytes.find("evolution");
  ASSERT_NE(at, std::string::npos);
  bytes[at] = 'E';
  std::ofstream(one.path, std::ios::binary) << bytes;
  const auto refused = back_up(one.path, one.folder / "copy.db", true);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("damaged"), std::string::npos) << refused.error().message;
  EXPECT_EQ(must(read_file(one.folder / "copy.db")), older);
  for (const auto& entry : fs::directory_iterator(one.path.parent_path()))
    EXPECT_EQ(entry.path().string().find(".tmp"), std::string::npos) << entry.path();
}

TEST(Backup, TouchesNoFileThatItDidNotMake) {
  OneStudy one;
  std::vector<fs::path> others;
  for (const char* name : {"copy.db.tmp", "copy.db.tmp-wal", "copy.db.tmp-shm",
                           "copy.db.tmp-journal", "copy.db.tmp-mine"})
    others.push_back(one.folder / name);
  for (const fs::path& other : others) std::ofstream(other) << "precious";
  fs::create_symlink(one.folder / "copy.db.tmp-mine", one.folder / "copy.db.new");
  must(back_up(one.path, one.folder / "copy.db", false));
  for (const fs::path& other : others) EXPECT_EQ(must(read_file(other)), "precious") << other;
  EXPECT_TRUE(fs::is_symlink(one.folder / "copy.db.new"));
}

TEST(Backup, KeepsAsManyAsItIsToldTo) {
  OneStudy one;
  const auto file = default_backup(one.path);
  EXPECT_FALSE(last_backup(one.path));
  for (TrialId trial = 0; trial < 5; ++trial) {
    one.append({asked(trial)});
    must(back_up_rotating(one.path, file, 3));
  }
  for (const auto& [name, trials] :
       {std::pair{file.string(), 5U}, {file.string() + ".1", 4U}, {file.string() + ".2", 3U}})
    EXPECT_EQ(must(must(Reader::open(name))->events(1)).size(), trials) << name;
  EXPECT_FALSE(fs::exists(file.string() + ".3"));
  EXPECT_EQ(last_backup(one.path), file);
}

TEST(Backup, IsFoundWhereOneWasKilledBetweenItsRenames) {
  OneStudy one;
  const auto file = default_backup(one.path);
  for (TrialId trial = 0; trial < 2; ++trial) {
    one.append({asked(trial)});
    must(back_up_rotating(one.path, file, 3));
  }
  fs::rename(file, file.string() + ".2");
  EXPECT_EQ(last_backup(one.path), fs::path(file.string() + ".1"));
  must(back_up_rotating(one.path, file, 3));
  EXPECT_EQ(last_backup(one.path), file);
  EXPECT_EQ(must(must(Reader::open(file.string() + ".1"))->events(1)).size(), 1U);
}

TEST(Backup, ThatRotatesPushesNoOtherFileAside) {
  OneStudy one;
  std::ofstream(one.folder / "notes") << "precious";
  ASSERT_FALSE(back_up_rotating(one.path, one.folder / "notes", 2));
  EXPECT_EQ(must(read_file(one.folder / "notes")), "precious");
  must(back_up_rotating(one.path, one.folder / "copy", 1));
  std::ofstream(one.folder / "copy.1") << "precious";
  must(back_up_rotating(one.path, one.folder / "copy", 1));
  EXPECT_EQ(must(read_file(one.folder / "copy.1")), "precious");
}

TEST(Backup, ThatFailsRotatesNothing) {
  OneStudy one;
  for (TrialId trial = 0; trial < 30; ++trial) one.append({asked(trial)});
  must(back_up_rotating(one.path, one.folder / "copy", 3));
  one.ledger.reset();
  std::string bytes = must(read_file(one.path));
  bytes[bytes.find("evolution")] = 'E';
  std::ofstream(one.path, std::ios::binary) << bytes;
  EXPECT_FALSE(back_up_rotating(one.path, one.folder / "copy", 3));
  EXPECT_EQ(must(check(one.folder / "copy")), std::vector<std::string>{});
  EXPECT_FALSE(fs::exists(one.folder / "copy.1"));
}

TEST(Compare, AnOlderBackupIsAPartOfTheDatabase) {
  OneStudy one;
  must(one.ledger->create_study(study_named("t")));
  one.append({asked(0), asked(1)});
  must(back_up(one.path, one.folder / "copy.db", false));
  one.append({asked(2)});
  EXPECT_EQ(must(compare(one.path, one.folder / "copy.db")), std::vector<std::string>{});
}

TEST(Compare, NamesWhatABackupHasAndTheDatabaseHasNot) {
  OneStudy one;
  one.append({asked(0)});
  must(back_up(one.path, one.folder / "old.db", false));
  one.append({asked(1), asked(2)});
  EXPECT_EQ(must(compare(one.folder / "old.db", one.path)),
            std::vector<std::string>{"event 2 of study 's' is not as in the backup"});
  must(must(Ledger::open(one.folder / "old.db"))->append(1, std::vector<Event>{asked(9)}));
  EXPECT_EQ(must(compare(one.folder / "old.db", one.path)),
            std::vector<std::string>{"event 2 of study 's' is not as in the backup"});
}

// The number of a deleted study is given again.
TEST(Compare, AStudyThatWasDeletedSinceIsNotTheNextOneOfItsNumber) {
  OneStudy one;
  one.append({asked(0), asked(1)});
  must(back_up(one.path, one.folder / "old.db", false));
  one.ledger.reset();
  must(delete_study(one.path, "s"));
  StudyRecord next = study_named("next");
  next.created_s += 1;
  EXPECT_EQ(must(must(Ledger::open(one.path))->create_study(next)), one.study);
  EXPECT_EQ(must(compare(one.path, one.folder / "old.db")), std::vector<std::string>{});
}

}  // namespace
}  // namespace detol
