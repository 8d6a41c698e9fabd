#include "core/durable_file.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "core/file.h"
#include "tests/support/temp_folder.h"

namespace detol {
namespace {

namespace fs = std::filesystem;

TEST(DurableFile, HasItsPiecesOnceItIsKept) {
  const testing_support::TempFolder folder;
  const fs::path path = folder.path() / "a";
  DurableFile file = DurableFile::create(path).value();
  ASSERT_TRUE(file.append("one "));
  ASSERT_TRUE(file.append("two"));
  EXPECT_FALSE(fs::exists(path));
  ASSERT_TRUE(file.keep());
  EXPECT_EQ(read_file(path).value(), "one two");
}

TEST(DurableFile, LeavesTheOldFileAloneUntilItIsKept) {
  const testing_support::TempFolder folder;
  const fs::path path = folder.path() / "a";
  ASSERT_TRUE(write_file_durably(path, "old"));
  { ASSERT_TRUE(DurableFile::create(path).value().append("new")); }
  EXPECT_EQ(read_file(path).value(), "old");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 1);
}

// `a.tmp` was the temporary name before it had a random part.
TEST(DurableFile, IsNeverWrittenThroughALink) {
  const testing_support::TempFolder folder;
  ASSERT_TRUE(write_file_durably(folder.path() / "precious", "precious"));
  fs::create_symlink(folder.path() / "precious", folder.path() / "a.tmp");
  ASSERT_TRUE(write_file_durably(folder.path() / "a", "new"));
  EXPECT_EQ(read_file(folder.path() / "precious").value(), "precious");
  EXPECT_TRUE(fs::is_symlink(folder.path() / "a.tmp"));
  EXPECT_EQ(read_file(folder.path() / "a").value(), "new");
}

TEST(DurableFile, HasANewNameWhileItGrowsAndTheModeOfASecretAtOnce) {
  const testing_support::TempFolder folder;
  const fs::path path = folder.path() / "a";
  const FreshFile first = create_beside(path, 0600).value();
  const FreshFile second = create_beside(path, 0600).value();
  EXPECT_NE(first.path, second.path);
  EXPECT_EQ(finished_name(first.path.filename().string()), "a");
  EXPECT_EQ(fs::status(first.path).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST(DurableFile, FilesThatKilledWritersLeftAreKnownByTheirNames) {
  const testing_support::TempFolder folder;
  const fs::path path = folder.path() / "a";
  const std::vector<std::string> others = {"a.tmp", "a.tmp-mine", "a.tmp-0123456789",
                                           "b.tmp-01234567"};
  for (const std::string& name : others) ASSERT_TRUE(write_file_durably(folder.path() / name, ""));
  const FreshFile left = create_beside(path).value();
  remove_unfinished(path);
  EXPECT_FALSE(fs::exists(left.path));
  for (const std::string& name : others) EXPECT_TRUE(fs::exists(folder.path() / name)) << name;
}

}  // namespace
}  // namespace detol
