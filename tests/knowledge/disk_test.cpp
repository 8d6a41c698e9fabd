// A disk that fails. This program replaces the C library's calls that write, so that SQLite itself
// gets the errors.

#include <sched.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

#include "knowledge/check.h"
#include "tests/knowledge/support.h"

namespace {

// Failure makes the nth call of a kind from now on fail with `error`; 0: no call fails.
struct Failure {
  int nth = 0;
  int error = EIO;
  bool stays = false;  // all later calls fail, too

  bool occurs() {
    if (nth == 0 || --nth > 0) return false;
    if (stays) nth = 1;
    errno = error;
    return true;
  }
};
Failure sync_failure, write_failure;

}  // namespace

extern "C" {
int fsync(int file) {
  return sync_failure.occurs() ? -1 : static_cast<int>(::syscall(SYS_fsync, file));
}
int fdatasync(int file) {
  return sync_failure.occurs() ? -1 : static_cast<int>(::syscall(SYS_fdatasync, file));
}
ssize_t pwrite64(int file, const void* bytes, size_t size, off64_t at) {
  return write_failure.occurs() ? -1 : ::syscall(SYS_pwrite64, file, bytes, size, at);
}
}

namespace detol {
namespace {

namespace fs = std::filesystem;
using testing_support::asked;
using testing_support::describe;
using testing_support::must;
using testing_support::OneStudy;

// Makes enough events to fill some hundred pages of the log.
std::vector<Event> some_trials(TrialId first, TrialId count = 200) {
  std::vector<Event> events;
  for (TrialId trial = first; trial < first + count; ++trial) events.push_back(asked(trial));
  return events;
}

struct Disk : testing::Test {
  ~Disk() override { sync_failure = write_failure = {}; }
};

TEST_F(Disk, AFailedFsyncEndsTheLedgerAndLosesNothingAcknowledged) {
  constexpr int kAppends = 10, kTrials = 500;  // so many that SQLite moves the log into the file
  for (int nth = 1;; ++nth) {
    OneStudy one;
    sync_failure = {.nth = nth};
    int acknowledged = 0;
    bool has_failed = false;
    for (int i = 0; i < kAppends; ++i) {
      const auto done =
          one.ledger->append(one.study, some_trials(static_cast<TrialId>(kTrials * i), kTrials));
      ASSERT_FALSE(done && has_failed) << "went on after fsync " << nth << " failed";
      if (!done) {
        EXPECT_FALSE(one.ledger->may_retry());
        EXPECT_NE(done.error().message.find("the disk is failing"), std::string::npos)
            << done.error().message;
      }
      acknowledged += done ? kTrials : 0;
      has_failed = has_failed || !done;
    }
    const bool has_occurred = sync_failure.nth == 0;
    sync_failure = {};
    one.reopen();
    EXPECT_GE(one.events().size(), static_cast<std::size_t>(acknowledged)) << "fsync " << nth;
    EXPECT_EQ(must(check(one.path)), std::vector<std::string>{});
    if (!has_occurred) {
      EXPECT_GT(nth, kAppends);
      return;
    }
    EXPECT_TRUE(has_failed || acknowledged == kTrials * kAppends) << "fsync " << nth;
  }
}

TEST_F(Disk, AWriteThatIsRefusedMaySucceedLater) {
  for (const int error : {EIO, ENOSPC, EROFS, EDQUOT}) {
    for (int nth = 1;; nth += 7) {
      OneStudy one;
      one.append({asked(100000)});
      write_failure = {.nth = nth, .error = error, .stays = true};
      const auto refused = one.ledger->append(one.study, some_trials(0));
      write_failure = {};
      if (refused) break;
      EXPECT_TRUE(one.ledger->may_retry()) << nth << refused.error().message;
      EXPECT_EQ(one.events().size(), 1U);
      one.append(some_trials(0));
      one.reopen();
      EXPECT_EQ(one.events().size(), 201U);
      EXPECT_EQ(must(check(one.path)), std::vector<std::string>{});
    }
  }
}

// TinyDisk is a file system of 400 kB that the test mounts.
class TinyDisk : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directory(path_);
    // Only this process sees the mount, which ends with the process.
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("none", path_.c_str(), "tmpfs", 0, "size=400k") != 0)
      GTEST_SKIP() << "only root may mount";
    is_mounted_ = true;
  }
  void TearDown() override {
    if (is_mounted_) ::umount2(path_.c_str(), MNT_DETACH);
  }

  testing_support::Folder folder_;
  const fs::path path_ = folder_ / "disk";
  bool is_mounted_ = false;
};

TEST_F(TinyDisk, IsFilledAndTheSearchGoesOnWhenThereIsSpaceAgain) {
  const auto ledger = must(Ledger::open(path_ / "detol.db"));
  const StudyId study = must(ledger->create_study(testing_support::study_named("s")));
  must(ledger->append(study, std::vector<Event>{asked(100000)}));
  std::ofstream(path_ / "filler") << std::string(400000, 'x');
  struct statvfs space {};
  ::statvfs(path_.c_str(), &space);
  ASSERT_EQ(space.f_bfree, 0U);
  const auto refused = ledger->append(study, some_trials(0));
  ASSERT_FALSE(refused);
  EXPECT_TRUE(ledger->may_retry());
  EXPECT_NE(refused.error().message.find("make room"), std::string::npos)
      << refused.error().message;
  fs::remove(path_ / "filler");
  must(ledger->append(study, some_trials(0)));
  EXPECT_EQ(must(ledger->events(study)).size(), 201U);
}

// A killed search leaves all of its events in the log.
TEST_F(TinyDisk, ALogIsReadWhereNothingMayBeWritten) {
  const fs::path path = path_ / "detol.db";
  const pid_t child = ::fork();
  if (child == 0) {
    const auto ledger = must(Ledger::open(path));
    const StudyId study = must(ledger->create_study(testing_support::study_named("s")));
    must(ledger->append(study, some_trials(0, 10)));
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);
  ASSERT_GT(fs::file_size(path.string() + "-wal"), 0U);
  for (const bool has_index : {true, false}) {
    if (!has_index) fs::remove(path.string() + "-shm");
    ASSERT_EQ(::mount("none", path_.c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr), 0);
    const auto reader = must(Reader::open(path));
    EXPECT_EQ(must(reader->events(must(reader->study("s")).id)).size(), 10U);
    EXPECT_EQ(must(reader->select("SELECT * FROM v_trials")).rows.size(), 10U);
    EXPECT_EQ(must(check(path)), std::vector<std::string>{});
    ASSERT_EQ(::mount("none", path_.c_str(), nullptr, MS_REMOUNT, nullptr), 0);
  }
}

TEST_F(TinyDisk, ReadOnlyIsReadAndNotWritten) {
  must(must(Ledger::open(path_ / "detol.db"))->create_study(testing_support::study_named("s")));
  ASSERT_EQ(::mount("none", path_.c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr), 0);
  EXPECT_TRUE(must(Reader::open(path_ / "detol.db"))->study("s"));
  const auto ledger = Ledger::open(path_ / "detol.db");
  ASSERT_FALSE(ledger);
  EXPECT_EQ(ledger.error().code, ErrorCode::kStorage);
  EXPECT_NE(ledger.error().message.find("pass a --storage that you may write"), std::string::npos)
      << ledger.error().message;
}

}  // namespace
}  // namespace detol
