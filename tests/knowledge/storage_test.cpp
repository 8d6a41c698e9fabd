// The ledger refuses databases that it cannot open, says why, and leaves them as they were.

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include <sqlite3.h>

#include "core/file.h"
#include "knowledge/check.h"
#include "knowledge/storage/sqlite.h"
#include "tests/knowledge/support.h"
#include "tests/support/other_program.h"

namespace detol {
namespace {

namespace fs = std::filesystem;
using testing_support::asked;
using testing_support::complete;
using testing_support::Folder;
using testing_support::must;
using testing_support::OneStudy;
using testing_support::reported;
using testing_support::started;
using testing_support::study_named;

void write(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

// A sound, closed database with one study of a few trials.
std::string sound_database() {
  OneStudy one;
  for (TrialId trial = 0; trial < 20; ++trial)
    one.append({asked(trial), started(trial, 1), reported(trial, 1, 1, 0.5), complete(trial, 0.5)});
  one.ledger.reset();
  return must(read_file(one.path));
}

std::string with_version(std::string bytes, char version) {
  bytes[63] = version;  // the last byte of PRAGMA user_version in the header
  return bytes;
}

struct Refusal {
  std::string name, bytes, says;
};

std::vector<Refusal> refusals() {
  const std::string sound = sound_database();
  std::string foreign = sound;
  foreign[71] ^= 1;  // PRAGMA application_id
  return {{"text",
           "this is a text file, long enough to have a header of a hundred bytes, but it "
           "does not have one at all",
           "not a database"},
          {"short", "SQLite format 3", "truncated"},
          {"truncated", sound.substr(0, sound.size() / 2), "damaged"},
          {"newer", with_version(sound, 99), "version 99"},
          {"foreign", foreign, "not a detol database"}};
}

TEST(Storage, RefusesABadFileAndLeavesItAsItWas) {
  for (const Refusal& bad : refusals()) {
    Folder folder;
    const auto path = folder / "detol.db";
    write(path, bad.bytes);
    const auto ledger = Ledger::open(path);
    ASSERT_FALSE(ledger) << bad.name;
    EXPECT_EQ(ledger.error().code, ErrorCode::kStorage) << bad.name;
    EXPECT_NE(ledger.error().message.find(bad.says), std::string::npos) << ledger.error().message;
    EXPECT_NE(ledger.error().message.find(path.string()), std::string::npos) << bad.name;
    EXPECT_EQ(must(read_file(path)), bad.bytes) << bad.name;
    EXPECT_EQ(folder.size(), 1U) << bad.name;
  }
}

TEST(Storage, AReaderRefusesABadFileToo) {
  for (const Refusal& bad : refusals()) {
    Folder folder;
    const auto path = folder / "detol.db";
    write(path, bad.bytes);
    auto reader = Reader::open(path);
    auto rows = reader ? (*reader)->select("SELECT * FROM v_trials")
                       : Result<Rows>(tl::unexpected(reader.error()));
    ASSERT_FALSE(rows) << bad.name;
    EXPECT_EQ(rows.error().code, ErrorCode::kStorage) << bad.name;
    EXPECT_EQ(must(read_file(path)), bad.bytes) << bad.name;
  }
}

TEST(Storage, SaysWhyAPlaceCannotHoldADatabase) {
  Folder folder;
  write(folder / "file", "x");
  fs::create_directory(folder / "folder");
  struct Place {
    fs::path path;
    std::string says;
  };
  const Place places[] = {{folder / "none" / "detol.db", "does not exist"},
                          {folder / "file" / "detol.db", "does not exist"},
                          {folder / "folder", "it is a folder"},
                          {"/proc/detol.db", "cannot be created"}};
  for (const Place& place : places) {
    const auto ledger = Ledger::open(place.path);
    ASSERT_FALSE(ledger) << place.path;
    EXPECT_EQ(ledger.error().code, ErrorCode::kStorage);
    EXPECT_NE(ledger.error().message.find(place.says), std::string::npos) << ledger.error().message;
  }
  EXPECT_EQ(folder.size(), 2U);
}

// A client that closed the file took the log with it.
TEST(Storage, WithoutALogIsReadInAFolderWhereNothingMayBeWritten) {
  Folder folder;
  const fs::path path = folder / "detol.db";
  write(path, sound_database());
  { testing_support::OtherProgram closes(path); }
  ASSERT_FALSE(fs::exists(path.string() + "-wal"));
  fs::permissions(path, fs::perms::owner_read | fs::perms::others_read);
  fs::permissions(folder.path(), fs::perms::owner_read | fs::perms::owner_exec |
                                     fs::perms::others_read | fs::perms::others_exec);
  const pid_t child = ::fork();
  if (child == 0) {  // root may write everywhere
    constexpr uid_t kNobody = 65534;
    if (::geteuid() == 0 && (::setgid(kNobody) != 0 || ::setuid(kNobody) != 0)) ::_exit(2);
    const auto reader = Reader::open(path);
    ::_exit(reader && (*reader)->studies() ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  fs::permissions(folder.path(), fs::perms::owner_all);
}

TEST(Storage, IsAPathAndNoUrl) {
  for (const char* url : {"sqlite:///x.db", "sqlite:////tmp/x.db", "postgresql://host/x"}) {
    const auto ledger = Ledger::open(url);
    const auto reader = Reader::open(url);
    ASSERT_FALSE(ledger);
    ASSERT_FALSE(reader);
    for (const Error& error : {ledger.error(), reader.error()}) {
      EXPECT_EQ(error.code, ErrorCode::kUsage);
      EXPECT_NE(error.message.find("takes a path, no URL"), std::string::npos) << error.message;
    }
  }
  Folder folder;
  fs::create_directory(folder / "a:");
  EXPECT_TRUE(Ledger::open(folder / "a:" / "x.db"));
}

TEST(Storage, SaysThatAPathIsTooLong) {
  Folder folder;
  fs::path deep = folder.path();
  while (deep.string().size() < 520) deep /= std::string(100, 'd');
  fs::create_directories(deep);
  const auto ledger = Ledger::open(deep / "detol.db");
  ASSERT_FALSE(ledger);
  EXPECT_NE(ledger.error().message.find("SQLite takes at most 504"), std::string::npos)
      << ledger.error().message;
}

TEST(Storage, RefusesAPipeInPlaceOfAnyOfItsFilesAtOnce) {
  for (const char* tail : {"", "-wal", "-shm", "-journal", ".lock"}) {
    Folder folder;
    const fs::path path = folder / "detol.db", pipe = path.string() + tail;
    write(path, sound_database());
    fs::remove(pipe);
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    const std::string says = "cannot read " + pipe.string() + ": it is a pipe";
    const auto ledger = Ledger::open(path);
    ASSERT_FALSE(ledger) << pipe;
    EXPECT_EQ(ledger.error().message, says + "; name a regular file");
    const auto reader = Reader::open(path);
    ASSERT_FALSE(reader) << pipe;
    EXPECT_EQ(reader.error().code, ErrorCode::kStorage);
    EXPECT_EQ(reader.error().message, ledger.error().message);
    EXPECT_FALSE(check(path)) << pipe;
  }
}

TEST(Storage, RefusesALogWhoseDatabaseIsGone) {
  Folder folder;
  write(folder / "detol.db-wal", "somebody's last hour");
  const auto ledger = Ledger::open(folder / "detol.db");
  ASSERT_FALSE(ledger);
  EXPECT_NE(ledger.error().message.find("restore"), std::string::npos) << ledger.error().message;
  EXPECT_EQ(must(read_file(folder / "detol.db-wal")), "somebody's last hour");
}

TEST(Storage, OpensAfterACreationThatWasKilledAnywhere) {
  Folder folder;
  write(folder / "detol.db", "");
  write(folder / "detol.db.tmp-0123abcd", sound_database().substr(0, 5000));
  write(folder / "detol.db.tmp-0123abcd-wal", "half");
  write(folder / "detol.db.lock", "");
  auto ledger = Ledger::open(folder / "detol.db");
  ASSERT_TRUE(ledger) << ledger.error().message;
  must((*ledger)->create_study(study_named("s")));
}

TEST(Storage, IsNeverCreatedThroughALink) {
  Folder folder;
  write(folder / "precious", "precious");
  fs::create_symlink(folder / "precious", folder / "detol.db.new");
  must(Ledger::open(folder / "detol.db"));
  EXPECT_EQ(must(read_file(folder / "precious")), "precious");
  EXPECT_TRUE(fs::is_symlink(folder / "detol.db.new"));
  fs::create_symlink(folder / "precious", folder / "other.db.lock");
  const auto refused = Ledger::open(folder / "other.db");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("other.db.lock"), std::string::npos);
  EXPECT_EQ(must(read_file(folder / "precious")), "precious");
}

TEST(Storage, ASecondWriterOfAStudyIsToldWhoTheFirstIs) {
  OneStudy one;
  const auto second = must(Ledger::open(one.path))->open_study("s");
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, ErrorCode::kStorage);
  const std::string& says = second.error().message;
  EXPECT_NE(says.find("process " + std::to_string(::getpid()) + " on host "), std::string::npos)
      << says;
  EXPECT_NE(says.find(" since 20"), std::string::npos) << says;
  EXPECT_NE(says.find("study 's'"), std::string::npos) << says;
  one.append({asked(0)});
}

TEST(Storage, ADeadWriterIsTakenOver) {
  Folder folder;
  const auto path = folder / "detol.db";
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto ledger = must(Ledger::open(path));
    must(ledger->create_study(study_named("s")));
    (void)!::write(ready[1], "x", 1);
    ::pause();
    ::_exit(0);
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  {
    const auto refused = must(Ledger::open(path))->open_study("s");
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find(std::to_string(child)), std::string::npos);
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  auto ledger = Ledger::open(path);
  ASSERT_TRUE(ledger) << ledger.error().message;
  EXPECT_TRUE((*ledger)->open_study("s"));
}

TEST(Storage, AReplacedWriterCannotCommit) {
  OneStudy one;
  one.append({asked(0)});
  // Another machine takes the database over, as when a network file system lost the lock.
  const auto successor = must(sqlite::open(one.path.string(), SQLITE_OPEN_READWRITE));
  must(sqlite::run(successor.get(), "UPDATE writers SET token = token + 1"));
  const auto late = one.ledger->append(one.study, std::vector<Event>{asked(1)});
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::kStorage);
  EXPECT_NE(late.error().message.find("took this database over"), std::string::npos);
  EXPECT_FALSE(one.ledger->may_retry());
  EXPECT_EQ(one.events().size(), 1U);
}

// Both writers hold the lock, as on a file system whose locks do not work.
TEST(Storage, AWriterWhoseLockNamesAnotherCannotCommit) {
  OneStudy one;
  one.append({asked(0)});
  write(one.path.string() + ".lock",
        std::string(1024, ' ') + R"({"host": "b", "pid": 1, "token": "another"})");
  const auto late = one.ledger->append(one.study, std::vector<Event>{asked(1)});
  ASSERT_FALSE(late);
  EXPECT_NE(late.error().message.find("took this database over"), std::string::npos);
  EXPECT_FALSE(one.ledger->may_retry());
  EXPECT_EQ(one.events().size(), 1U);
}

// What is committed to a deleted file is lost: it is never confirmed, also not by a second try.
TEST(Storage, AWriterWhoseFileIsGoneOrAnotherCannotCommit) {
  for (const bool is_replaced : {false, true}) {
    OneStudy one;
    one.append({asked(0)});
    fs::remove(one.path);
    if (is_replaced) write(one.path, sound_database());
    for (const TrialId trial : {1, 2}) {
      const auto late = one.ledger->append(one.study, std::vector<Event>{asked(trial)});
      ASSERT_FALSE(late);
      EXPECT_EQ(late.error().code, ErrorCode::kStorage);
      EXPECT_NE(late.error().message.find("was deleted or replaced"), std::string::npos);
      EXPECT_FALSE(one.ledger->may_retry());
    }
  }
}

TEST(Storage, AReaderWorksOnAFolderItMayNotWrite) {
  Folder folder;
  const auto path = folder / "detol.db";
  write(path, sound_database());
  fs::permissions(path.parent_path(), fs::perms::owner_read | fs::perms::owner_exec);
  const auto reader = Reader::open(path);
  const auto rows = (*reader)->select("SELECT count(*) FROM v_trials");
  fs::permissions(path.parent_path(), fs::perms::owner_all);
  ASSERT_TRUE(rows) << rows.error().message;
  EXPECT_EQ(std::get<std::int64_t>(rows->rows[0][0]), 20);
}

// RLIMIT_FSIZE stands in for a full disk: the log cannot grow.
TEST(Storage, AFullDiskLosesNothingAndTheSameCallSucceedsLater) {
  OneStudy one;
  one.append({asked(0)});
  ::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const rlimit full{fs::file_size(one.path.string() + "-wal") + 10000, before.rlim_max};
  std::vector<Event> many;
  for (TrialId trial = 1; trial < 500; ++trial) many.push_back(asked(trial));
  ::setrlimit(RLIMIT_FSIZE, &full);
  const auto refused = one.ledger->append(one.study, many);
  const bool may_retry = one.ledger->may_retry();
  ::setrlimit(RLIMIT_FSIZE, &before);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kStorage);
  EXPECT_NE(refused.error().message.find("is the disk full"), std::string::npos)
      << refused.error().message;
  EXPECT_TRUE(may_retry);
  EXPECT_EQ(one.events().size(), 1U);
  one.append(many);
  EXPECT_FALSE(one.ledger->may_retry());
  EXPECT_EQ(one.events().size(), 500U);
  one.reopen();
  EXPECT_EQ(one.events().size(), 500U);
  EXPECT_EQ(must(check(one.path)), std::vector<std::string>{});
}

}  // namespace
}  // namespace detol
