// The log is truncated when it is long, whatever readers do, and nothing is lost thereby.

#include <atomic>
#include <thread>

#include <sqlite3.h>

#include "knowledge/storage/sqlite.h"
#include "tests/knowledge/support.h"

namespace detol {
namespace {

namespace fs = std::filesystem;
using testing_support::asked;
using testing_support::must;
using testing_support::OneStudy;
using testing_support::started;

constexpr std::uintmax_t kMegabyte = 1 << 20;
constexpr std::uintmax_t kLong = 16 * kMegabyte;  // from here on the writer waits for readers

// OpenTransaction holds a read transaction open until it is destroyed.
struct OpenTransaction {
  explicit OpenTransaction(const fs::path& path)
      : database(must(sqlite::open(path.string(), SQLITE_OPEN_READONLY))) {
    must(sqlite::run(database.get(), "BEGIN; SELECT count(*) FROM events"));
  }
  sqlite::Database database;
};

struct LogLength : testing::Test, OneStudy {
  std::uintmax_t log_size() const { return fs::file_size(path.string() + "-wal"); }

  // Writes about one megabyte.
  void write() {
    append({asked(trial), started(trial, 1, std::string(kMegabyte, 'w'))});
    ++trial;
  }
  TrialId trial = 0;
};

TEST_F(LogLength, IsBoundedThoughReadersFollowEachOtherWithoutAGap) {
  std::atomic_bool is_over = false;
  std::thread readers([&] {
    auto reader = std::make_unique<OpenTransaction>(path);
    while (!is_over) {
      auto next = std::make_unique<OpenTransaction>(path);
      reader = std::move(next);
    }
  });
  std::uintmax_t longest = 0;
  while (trial < 48) {
    write();
    longest = std::max(longest, log_size());
  }
  is_over = true;
  readers.join();
  EXPECT_LT(longest, 2 * kLong);
  EXPECT_EQ(events().size(), 96U);
}

TEST_F(LogLength, IsCutOnceTheReaderThatHeldItHasGone) {
  auto reader = std::make_unique<OpenTransaction>(path);
  while (log_size() < kLong + kMegabyte) write();
  reader.reset();
  write();
  write();
  EXPECT_LE(log_size(), kLong);
  EXPECT_EQ(events().size(), 2U * trial);
}

}  // namespace
}  // namespace detol
