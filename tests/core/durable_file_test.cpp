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

TEST(DurableFile, LeavesTheOldFileAloneUntilThen) {
  const testing_support::TempFolder folder;
  const fs::path path = folder.path() / "a";
  ASSERT_TRUE(write_file_durably(path, "old"));
  { ASSERT_TRUE(DurableFile::create(path).value().append("new")); }
  EXPECT_EQ(read_file(path).value(), "old");
  EXPECT_FALSE(fs::exists(folder.path() / "a.tmp"));
}

}  // namespace
}  // namespace detol
