// Checksums of pages: every damage of a file is seen by the reads of that page, and nothing else
// about SQLite changes.

#include "knowledge/storage/page_checksums.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include <sqlite3.h>

#include "core/file.h"
#include "core/rng.h"
#include "knowledge/storage/page_layout.h"
#include "knowledge/storage/sqlite.h"
#include "tests/knowledge/support.h"

namespace detol {
namespace {

namespace fs = std::filesystem;
using sqlite::Database;
using testing_support::Folder;
using testing_support::must;

constexpr int kMayCreate = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
constexpr std::size_t kPageSize = 4096;

Database open_checked(const fs::path& path) {
  return must(sqlite::open(path.string(), kMayCreate));
}

// Opens as a program that knows nothing of checksums.
Database open_plainly(const fs::path& path) {
  sqlite3* raw = nullptr;
  EXPECT_EQ(sqlite3_open_v2(path.c_str(), &raw, kMayCreate, "unix"), SQLITE_OK);
  return Database(raw);
}

void run(const Database& database, const std::string& sql) {
  must(sqlite::run(database.get(), sql.c_str()));
}

// Adds rows, some of them longer than a page, and an index.
void add_rows(const Database& database, int count = 400) {
  run(database,
      "CREATE TABLE IF NOT EXISTS t(id INTEGER PRIMARY KEY, name TEXT, long BLOB);"
      "CREATE INDEX IF NOT EXISTS by_name ON t(name);");
  run(database, fmt::format("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n "
                            "WHERE i < {}) INSERT INTO t(name, long) SELECT 'name ' || (i * 7919 "
                            "% 1000), zeroblob(i % 50 * 200) || hex(i * i * i) FROM n",
                            count));
}

void create(const fs::path& path, const std::string& pragmas, bool has_checksums = true) {
  const Database database = open_checked(path);
  if (has_checksums) must(sqlite::reserve_checksums(database.get()));
  run(database, pragmas);
  add_rows(database);
  if (sqlite3_get_autocommit(database.get()) == 0) run(database, "COMMIT");
}

// Returns the result of a query as text, or "error ...".
std::string select(const Database& database, const char* sql) {
  auto query = sqlite::Statement::prepare(database.get(), sql);
  if (!query) return "error " + query.error().message;
  std::string rows;
  for (;;) {
    const auto more = query->step();
    if (!more) return "error " + more.error().message;
    if (!*more) return rows;
    rows.append(query->text(0)).push_back('\n');
  }
}

constexpr const char* kQueries[] = {
    "SELECT id || name || hex(long) FROM t NOT INDEXED ORDER BY id",
    "SELECT name || id FROM t INDEXED BY by_name ORDER BY name, id",
    "SELECT count(*) FROM t",
};

std::vector<std::string> answers(const Database& database) {
  std::vector<std::string> all;
  for (const char* query : kQueries) all.push_back(select(database, query));
  return all;
}

std::vector<std::string> answers(const fs::path& path) {
  return answers(open_checked(path));
}

bool is_refused(const std::string& answer) {
  return answer.starts_with("error");
}

std::int64_t bad_pages(const fs::path& path) {
  return sqlite::count_stale_pages(open_checked(path).get());
}

void write_bytes(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

class PageChecksums : public testing::Test {
 protected:
  Folder folder_;
  fs::path path_ = folder_ / "detol.db";
};

class PageChecksumsOfEveryKind : public PageChecksums,
                                 public testing::WithParamInterface<const char*> {};

TEST_P(PageChecksumsOfEveryKind, ABackupKeepsThem) {
  create(path_, GetParam());
  {
    const Database source = open_checked(path_);
    const Database copy = open_checked(folder_ / "copy.db");
    run(copy, "PRAGMA cache_size = 10");  // most pages are written before the first
    sqlite3_backup* backup = sqlite3_backup_init(copy.get(), "main", source.get(), "main");
    ASSERT_NE(backup, nullptr);
    EXPECT_EQ(sqlite3_backup_step(backup, -1), SQLITE_DONE);
    EXPECT_EQ(sqlite3_backup_finish(backup), SQLITE_OK);
  }
  EXPECT_EQ(must(read_file(folder_ / "copy.db"))[20], '\x08');
  EXPECT_EQ(bad_pages(folder_ / "copy.db"), 0);
  EXPECT_EQ(answers(folder_ / "copy.db"), answers(path_));
}

TEST_P(PageChecksumsOfEveryKind, PagesThatWereFreedBeforeTheyWereWrittenHaveThem) {
  create(path_, GetParam());
  {
    const Database database = open_checked(path_);
    run(database, "PRAGMA secure_delete = OFF; CREATE TABLE u(id INTEGER PRIMARY KEY, x)");
    // Row 1 leaves its long value's pages below that of row 2.
    run(database,
        "INSERT OR REPLACE INTO u VALUES (1, zeroblob(900000)), (2, zeroblob(70000)), (1, 'x')");
  }
  EXPECT_EQ(bad_pages(path_), 0);
}

INSTANTIATE_TEST_SUITE_P(Modes, PageChecksumsOfEveryKind,
                         testing::Values("PRAGMA journal_mode = WAL",
                                         "PRAGMA journal_mode = DELETE",
                                         "PRAGMA locking_mode = EXCLUSIVE",
                                         "PRAGMA page_size = 512", "PRAGMA page_size = 65536",
                                         "PRAGMA cache_size = 5; PRAGMA journal_mode = WAL",
                                         "PRAGMA cache_size = 5; BEGIN"),
                         [](const auto& each) { return fmt::format("{}", each.index); });

TEST_F(PageChecksums, APageInAnothersPlaceIsSeen) {
  create(path_, "");
  std::string bytes = must(read_file(path_));
  bytes.replace(7 * kPageSize, kPageSize, bytes, 9 * kPageSize, kPageSize);
  write_bytes(path_, bytes);
  EXPECT_EQ(bad_pages(path_), 1);
  const Database database = open_checked(path_);
  EXPECT_TRUE(is_refused(select(database, kQueries[0]) + select(database, kQueries[1])));
  EXPECT_EQ(sqlite::damaged_page(database.get()), 8);
}

TEST_F(PageChecksums, AZeroedPageIsSeen) {
  create(path_, "");
  std::string bytes = must(read_file(path_));
  bytes.replace(7 * kPageSize, kPageSize, kPageSize, '\0');
  write_bytes(path_, bytes);
  EXPECT_EQ(bad_pages(path_), 1);
}

TEST_F(PageChecksums, ADamagedPageIsNamedAsSuch) {
  create(path_, "");
  std::string bytes = must(read_file(path_));
  for (std::size_t page = 1; page < bytes.size() / kPageSize; ++page) bytes[page * kPageSize] ^= 1;
  write_bytes(path_, bytes);
  const Database database = open_checked(path_);
  const std::string answer = select(database, kQueries[2]);
  EXPECT_TRUE(sqlite::is_page_damaged(database.get()));
  EXPECT_NE(answer.find("is damaged"), std::string::npos) << answer;
}

TEST_F(PageChecksums, AnswersNeedOnlyTheirOwnPages) {
  create(path_, "");
  run(open_checked(path_), "CREATE TABLE other(x); INSERT INTO other VALUES (5)");
  std::string bytes = must(read_file(path_));
  bytes[7 * kPageSize + 99] ^= 1;  // of table t
  write_bytes(path_, bytes);
  EXPECT_EQ(select(open_checked(path_), "SELECT x FROM other"), "5\n");
}

TEST_F(PageChecksums, ALostAnnouncementInTheHeaderIsSeen) {
  create(path_, "");
  std::string bytes = must(read_file(path_));
  bytes[20] = 0;
  write_bytes(path_, bytes);
  EXPECT_TRUE(is_refused(answers(path_)[0]));
  EXPECT_EQ(bad_pages(path_), 1);
}

class PageChecksumsInJournalMode : public PageChecksumsOfEveryKind {};

TEST_P(PageChecksumsInJournalMode, NoFlippedBitChangesAnAnswer) {
  create(path_, GetParam());
  const auto expected = answers(path_);
  ASSERT_FALSE(is_refused(expected[0])) << expected[0];
  const std::string sound = must(read_file(path_));
  ASSERT_EQ(bad_pages(path_), 0);
  ASSERT_GT(sound.size(), 100 * kPageSize);
  Rng rng(20261124);
  int refused = 0;
  for (int i = 0; i < 300; ++i) {
    // Every fifth flip hits the header of the file, which a random place would hardly do.
    const std::size_t at = rng.below(i % 5 == 0 ? 100 : sound.size());
    std::string damaged = sound;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << rng.below(8)));
    write_bytes(path_, damaged);
    const auto found = answers(path_);
    for (std::size_t query = 0; query < found.size(); ++query) {
      if (is_refused(found[query]))
        ++refused;
      else
        EXPECT_EQ(found[query], expected[query]) << "byte " << at;
    }
  }
  EXPECT_GT(refused, 300);
}

TEST_P(PageChecksumsInJournalMode, APlainConnectionsPagesAreRefusedUntilRenewed) {
  create(path_, GetParam());
  const auto before = answers(path_);
  EXPECT_EQ(answers(open_plainly(path_)), before);
  run(open_plainly(path_), "UPDATE t SET name = name || 'x'");
  const auto expected = answers(open_plainly(path_));
  EXPECT_NE(expected, before);
  EXPECT_TRUE(is_refused(answers(path_)[0]));
  {
    const Database database = open_checked(path_);
    EXPECT_TRUE(is_refused(answers(database)[0]));
    sqlite::skip_verification(database.get());
    EXPECT_EQ(answers(database), expected);
  }
  EXPECT_GT(bad_pages(path_), 0);
  EXPECT_TRUE(sqlite::renew_checksums(open_checked(path_).get()));
  EXPECT_EQ(bad_pages(path_), 0);
  EXPECT_EQ(answers(path_), expected);
}

INSTANTIATE_TEST_SUITE_P(Modes, PageChecksumsInJournalMode,
                         testing::Values("PRAGMA journal_mode = WAL",
                                         "PRAGMA journal_mode = DELETE"),
                         [](const auto& each) { return fmt::format("{}", each.index); });

TEST_F(PageChecksums, RenewingChangesReservedBytesOnly) {
  create(path_, "");
  std::string bytes = must(read_file(path_));
  for (std::size_t at = 5 * kPageSize; at < 30 * kPageSize; at += 7001) bytes[at] ^= 4;
  write_bytes(path_, bytes);
  EXPECT_GT(bad_pages(path_), 5);
  EXPECT_TRUE(sqlite::renew_checksums(open_checked(path_).get()));
  const std::string renewed = must(read_file(path_));
  ASSERT_EQ(renewed.size(), bytes.size());
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    if (at % kPageSize >= kPageSize - sqlite::kChecksumBytes) continue;
    ASSERT_EQ(renewed[at], bytes[at]) << at;
  }
}

TEST_F(PageChecksums, AFileWithoutReservedBytesIsAsEver) {
  create(path_, "", false);
  const Database plain = open_plainly(folder_ / "plain.db");
  add_rows(plain);
  EXPECT_EQ(must(read_file(path_)), must(read_file(folder_ / "plain.db")));
  EXPECT_EQ(answers(path_), answers(plain));
  EXPECT_EQ(bad_pages(path_), 0);
  EXPECT_TRUE(sqlite::renew_checksums(open_checked(path_).get()));
}

TEST_F(PageChecksums, VacuumConvertsAnOldFile) {
  create(path_, "", false);
  const auto expected = answers(path_);
  {
    const Database database = open_checked(path_);
    run(database, "PRAGMA cache_size = 10");
    must(sqlite::reserve_checksums(database.get()));
    run(database, "VACUUM");
    EXPECT_EQ(answers(database), expected);
  }
  EXPECT_EQ(must(read_file(path_))[20], '\x08');
  EXPECT_EQ(bad_pages(path_), 0);
  EXPECT_EQ(answers(path_), expected);
}

TEST_F(PageChecksums, ABackupOverAFileWithChecksumsKeepsItsContent) {
  create(folder_ / "old.db", "", false);
  create(path_, "");
  run(open_checked(path_), "DELETE FROM t WHERE id % 2 = 0");
  {
    const Database source = open_checked(folder_ / "old.db");
    const Database copy = open_checked(path_);
    run(copy, "PRAGMA cache_size = 10");
    sqlite3_backup* backup = sqlite3_backup_init(copy.get(), "main", source.get(), "main");
    EXPECT_EQ(sqlite3_backup_step(backup, -1), SQLITE_DONE);
    EXPECT_EQ(sqlite3_backup_finish(backup), SQLITE_OK);
  }
  EXPECT_EQ(must(read_file(path_))[20], '\0');
  EXPECT_EQ(answers(path_), answers(folder_ / "old.db"));
  EXPECT_EQ(select(open_checked(path_), "PRAGMA integrity_check"), "ok\n");
}

TEST_F(PageChecksums, TheVfsWithoutLocksVerifies) {
  create(path_, "");
  const auto open = [&] {
    sqlite3* raw = nullptr;
    sqlite::page_checksum_vfs();
    EXPECT_EQ(sqlite3_open_v2(path_.c_str(), &raw, SQLITE_OPEN_READONLY,
                              sqlite::kUnlockedPageChecksumVfs),
              SQLITE_OK);
    return Database(raw);
  };
  EXPECT_FALSE(is_refused(answers(open())[0]));
  std::string bytes = must(read_file(path_));
  bytes[3 * kPageSize + 100] ^= 1;
  bytes[4 * kPageSize + 100] ^= 1;
  write_bytes(path_, bytes);
  const auto found = answers(open());
  EXPECT_TRUE(is_refused(found[0]) || is_refused(found[1]));
}

TEST_F(PageChecksums, ACutOffPageIsNotVerified) {
  create(path_, "");
  write_bytes(path_, must(read_file(path_)) + std::string(100, 'x'));
  EXPECT_EQ(bad_pages(path_), 0);
  EXPECT_FALSE(is_refused(answers(path_)[0]));
}

TEST_F(PageChecksums, NothingIsVerifiedInMemory) {
  const Database database = must(sqlite::open(":memory:", kMayCreate));
  must(sqlite::reserve_checksums(database.get()));
  add_rows(database);
  sqlite::skip_verification(database.get());
  EXPECT_EQ(sqlite::damaged_page(database.get()), 0);
  EXPECT_EQ(select(database, kQueries[2]), "400\n");
}

// System calls of SQLite, the last of which ends the process.
int calls_left = 0;

template <auto kCall, typename... Arguments>
ssize_t counted(int file, const void* bytes, Arguments... arguments) {
  if (--calls_left < 0) ::_exit(7);
  return kCall(file, bytes, arguments...);
}

// Converts a file to checksums in a process that ends before write number `calls`. Returns true if
// it came to its end.
bool convert_in_child(const fs::path& path, int calls) {
  const pid_t child = ::fork();
  if (child == 0) {
    const Database database = open_checked(path);
    sqlite3_vfs* vfs = sqlite3_vfs_find(sqlite::page_checksum_vfs());
    calls_left = calls;
    const auto pwrite = counted<::pwrite, std::size_t, off_t>;
    const auto write = counted<::write, std::size_t>;
    for (const char* name : {"pwrite", "pwrite64"})
      vfs->xSetSystemCall(vfs, name, reinterpret_cast<sqlite3_syscall_ptr>(pwrite));
    vfs->xSetSystemCall(vfs, "write", reinterpret_cast<sqlite3_syscall_ptr>(write));
    const bool is_done = sqlite::run(database.get(), "PRAGMA cache_size = 5") &&
                         sqlite::reserve_checksums(database.get()) &&
                         sqlite::run(database.get(), "VACUUM");
    ::_exit(is_done ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 7));
  return status == 0;
}

TEST_F(PageChecksums, AnInterruptedConversionLosesNothing) {
  {
    const Database database = open_checked(path_);
    add_rows(database, 60);
  }
  const auto expected = answers(path_);
  const std::string old = must(read_file(path_));
  int interrupted = 0;
  for (int calls = 0;; calls += 3) {
    write_bytes(path_, old);
    fs::remove(path_.string() + "-journal");
    const bool is_done = convert_in_child(path_, calls);
    EXPECT_EQ(answers(path_), expected) << calls;
    EXPECT_EQ(select(open_checked(path_), "PRAGMA integrity_check"), "ok\n") << calls;
    EXPECT_EQ(bad_pages(path_), 0) << calls;
    if (is_done) break;
    ++interrupted;
  }
  EXPECT_GT(interrupted, 30);
}

}  // namespace
}  // namespace detol
