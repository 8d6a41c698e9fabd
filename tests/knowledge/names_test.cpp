// A database with several names, by links and mounts, has one lock and one log.

#include <sched.h>
#include <sys/mount.h>

#include <fstream>

#include "knowledge/check.h"
#include "knowledge/storage/writer.h"
#include "tests/knowledge/support.h"

namespace detol {
namespace {

namespace fs = std::filesystem;
using testing_support::asked;
using testing_support::must;
using testing_support::OneStudy;

// Opens the study `s` of the database.
Result<StudyRecord> open_study(const fs::path& path) {
  DETOL_ASSIGN(const auto ledger, Ledger::open(path));
  return ledger->open_study("s");
}

void expect_refused(const fs::path& path, std::string_view says) {
  const auto ledger = open_study(path);
  ASSERT_FALSE(ledger) << path;
  EXPECT_EQ(ledger.error().code, ErrorCode::kStorage);
  EXPECT_NE(ledger.error().message.find(says), std::string::npos) << ledger.error().message;
}

struct Names : testing::Test {
  Names() { fs::create_directory(one.folder / "elsewhere"); }

  OneStudy one;
  const fs::path other = one.folder / "elsewhere" / "other.db";
};

TEST_F(Names, ASymbolicLinkHasTheSameWriterAndTheSameLog) {
  fs::create_symlink("../detol.db", other);
  fs::create_symlink(other, one.folder / "chain.db");
  for (const fs::path& link : {other, one.folder / "chain.db"}) {
    expect_refused(link, "is being run by process");
    EXPECT_TRUE(must(current_writer(link)));
  }
  one.append({asked(0)});  // only in the write-ahead log
  EXPECT_EQ(must(must(Reader::open(other))->events(one.study)).size(), 1U);
  one.ledger.reset();
  must(must(Ledger::open(other))->append(one.study, std::vector<Event>{asked(1)}));
  EXPECT_EQ(must(must(Reader::open(one.path))->events(one.study)).size(), 2U);
  EXPECT_EQ(std::distance(fs::directory_iterator(one.folder / "elsewhere"), {}), 1);
}

TEST_F(Names, ALinkToADatabaseThatIsNotThereYetCreatesItWhereItLeads) {
  fs::create_symlink("../new.db", other);
  must(Ledger::open(other));
  EXPECT_TRUE(fs::is_symlink(other));
  EXPECT_TRUE(fs::is_regular_file(one.folder / "new.db"));
}

TEST_F(Names, AHardLinkIsRefusedByEitherName) {
  one.append({asked(0)});
  fs::create_hard_link(one.path, other);
  expect_refused(other, "has 2 names");
  EXPECT_FALSE(Reader::open(other));  // it would not see the log
  EXPECT_FALSE(check(other));
  one.ledger.reset();
  expect_refused(one.path, "has 2 names");
  fs::remove(other);
  must(Ledger::open(one.path));
}

TEST_F(Names, ALivingWriterIsNotReplacedThoughTheFileOfItsLockIsGone) {
  fs::remove(one.path.string() + ".lock");
  expect_refused(one.path, "is being written by a process that does not hold");
  EXPECT_FALSE(fs::exists(one.path.string() + ".lock"));
  one.append({asked(0)});
}

// A bind mount gives a file a second name without a link.
TEST_F(Names, AMountOfTheFileHasTheSameWriter) {
  std::ofstream(other) << "";
  if (::unshare(CLONE_NEWNS) != 0 ||
      ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      ::mount(one.path.c_str(), other.c_str(), nullptr, MS_BIND, nullptr) != 0)
    GTEST_SKIP() << "only root may mount";
  expect_refused(other, "by another name");
  ::umount2(other.c_str(), MNT_DETACH);
}

}  // namespace
}  // namespace detol
