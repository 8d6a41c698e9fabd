// On a network file system, here a simulated one, only the writer opens the database. Each role is
// a process of its own, because closing a file drops the locks of the whole process.

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <functional>

#include <sqlite3.h>

#include "core/file.h"
#include "knowledge/check.h"
#include "knowledge/maintenance.h"
#include "knowledge/snapshot_impl.h"
#include "tests/knowledge/support.h"

namespace detol {
namespace {

namespace fs = std::filesystem;
using testing_support::asked;
using testing_support::Folder;
using testing_support::must;
using testing_support::study_named;

class ManualClock final : public Clock {
 public:
  double now_s() override { return now; }
  double wall_s() override { return now; }
  double now = 1000;
};

class NetworkFile : public testing::Test {
 protected:
  NetworkFile() { ::setenv("DETOL_TEST_NETWORK_FS", "1", 1); }
  ~NetworkFile() override { ::unsetenv("DETOL_TEST_NETWORK_FS"); }

  // Runs `body` in another process and returns its result, or -1 if it failed.
  static int elsewhere(const std::function<int()>& body) {
    const pid_t child = ::fork();
    if (child == 0) {
      try {
        ::_exit(body());
      } catch (const std::exception&) {
        ::_exit(255);
      }
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WEXITSTATUS(status) == 255 ? -1 : WEXITSTATUS(status);
  }

  int events_elsewhere() const {
    return elsewhere([this] {
      const auto reader = must(Reader::open(path_));
      return static_cast<int>(must(reader->events(must(reader->study("s")).id)).size());
    });
  }

  Folder folder_;
  const fs::path path_ = folder_ / "detol.db";
};

TEST_F(NetworkFile, HasNoSharedMemoryAndIsReadThroughTheSnapshot) {
  const auto ledger = must(Ledger::open(path_));
  const StudyId study = must(ledger->create_study(study_named("s")));
  must(ledger->append(study, std::vector<Event>{asked(0), asked(1)}));
  EXPECT_FALSE(fs::exists(path_.string() + "-shm"));
  EXPECT_EQ(events_elsewhere(), 2);
  must(ledger->append(study, std::vector<Event>{asked(2)}));
  EXPECT_EQ(events_elsewhere(), 2);  // the snapshot is a few seconds old
  must(
      ledger->append(study, std::vector<Event>{event::StudyState{StudyPhase::kDone, "1cpu-h", 9}}));
  EXPECT_EQ(events_elsewhere(), 4);
}

TEST_F(NetworkFile, IsReadItselfWhenNobodyWritesEvenAfterAKill) {
  EXPECT_EQ(elsewhere([this]() -> int {
              const auto ledger = must(Ledger::open(path_));
              const StudyId study = must(ledger->create_study(study_named("s")));
              must(ledger->append(study, std::vector<Event>{asked(0)}));
              must(ledger->append(study, std::vector<Event>{asked(1)}));
              ::_exit(7);  // without closing: the log stays
            }),
            7);
  EXPECT_TRUE(fs::exists(path_.string() + "-wal"));
  EXPECT_EQ(events_elsewhere(), 2);
  EXPECT_FALSE(fs::exists(path_.string() + "-shm"));
  EXPECT_EQ(events_elsewhere(), 2);
  EXPECT_EQ(elsewhere([this] {
              return static_cast<int>(must(must(Ledger::open(path_))->events(1)).size());
            }),
            2);
  EXPECT_EQ(must(check(path_)), std::vector<std::string>{});
}

TEST_F(NetworkFile, ADamagedLogIsRefusedAndRecovered) {
  EXPECT_EQ(elsewhere([this]() -> int {
              const auto ledger = must(Ledger::open(path_));
              const StudyId study = must(ledger->create_study(study_named("s")));
              must(ledger->append(study, std::vector<Event>{asked(0)}));
              must(ledger->append(study, std::vector<Event>{asked(1)}));
              ::_exit(7);
            }),
            7);
  const fs::path log = path_.string() + "-wal";
  std::string bytes = must(read_file(log));
  bytes[bytes.size() - 6000] ^= 1;
  std::ofstream(log, std::ios::binary) << bytes;
  EXPECT_EQ(events_elsewhere(), -1);
  EXPECT_EQ(elsewhere([this] { return Ledger::open(path_) ? 1 : 0; }), 0);
  EXPECT_EQ(elsewhere([this] { return must(recover(path_)) ? 1 : 0; }), 1);
  EXPECT_EQ(events_elsewhere(), 1);
}

TEST_F(NetworkFile, WithoutASnapshotSaysThatThereIsNone) {
  const auto ledger = must(Ledger::open(path_));
  const auto reader = Reader::open(path_);
  ASSERT_FALSE(reader);
  EXPECT_EQ(reader.error().code, ErrorCode::kStorage);
  EXPECT_NE(reader.error().message.find("no snapshot yet"), std::string::npos);
}

TEST_F(NetworkFile, ASnapshotIsWrittenEveryFewSecondsAndWhenItIsWanted) {
  auto ledger = must(Ledger::open(folder_ / "source.db"));
  must(ledger->create_study(study_named("s")));
  ledger.reset();
  const auto source = must(sqlite::open((folder_ / "source.db").string(), SQLITE_OPEN_READWRITE));
  ManualClock clock;
  PageVerification pages(source.get());
  Snapshots snapshots(path_, clock);
  const auto is_written = [&] {
    fs::remove(snapshot_of(path_));
    snapshots.update(pages);
    return fs::exists(snapshot_of(path_));
  };
  EXPECT_TRUE(is_written());
  EXPECT_FALSE(is_written());
  clock.now += 4;
  EXPECT_FALSE(is_written());
  clock.now += 2;
  EXPECT_TRUE(is_written());
  snapshots.request();
  EXPECT_TRUE(is_written());
}

TEST(LocalFile, HasNoSnapshot) {
  testing_support::OneStudy one;
  one.append({asked(0)});
  EXPECT_FALSE(fs::exists(snapshot_of(one.path)));
}

}  // namespace
}  // namespace detol
