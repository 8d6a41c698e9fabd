#include "core/file.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/temp_folder.h"

namespace detol {
namespace {

class FileTest : public testing::Test {
 protected:
  std::filesystem::path path(const char* name) const { return folder_.path() / name; }

  static void expect_error(const Error& error, ErrorCode code, std::string_view says) {
    EXPECT_EQ(error.code, code);
    EXPECT_NE(error.message.find(says), std::string::npos) << error.message;
  }

 private:
  testing_support::TempFolder folder_;
};

TEST_F(FileTest, ReadsBackWhatItWrote) {
  const std::string bytes("with a \0 and a \n in it", 22);
  ASSERT_TRUE(write_file_durably(path("a"), bytes));
  EXPECT_EQ(read_file(path("a")).value(), bytes);
}

TEST_F(FileTest, ReplacesAFileAndLeavesNoOther) {
  ASSERT_TRUE(write_file_durably(path("a"), "old and longer"));
  ASSERT_TRUE(write_file_durably(path("a"), "new"));
  EXPECT_EQ(read_file(path("a")).value(), "new");
  EXPECT_FALSE(std::filesystem::exists(path("a.tmp")));
}

TEST_F(FileTest, AMissingFileIsNamedWithTheReason) {
  const auto read = read_file(path("none"));
  ASSERT_FALSE(read);
  expect_error(read.error(), ErrorCode::kInput, path("none").string());
  expect_error(read.error(), ErrorCode::kInput, "No such file");
}

TEST_F(FileTest, AFolderIsNoFile) {
  std::filesystem::create_directory(path("folder"));
  const auto read = read_file(path("folder"));
  ASSERT_FALSE(read);
  expect_error(read.error(), ErrorCode::kInput, "it is a folder");
}

TEST_F(FileTest, ATooLargeFileIsRefusedBeforeItIsRead) {
  std::ofstream(path("huge")).put('x');
  std::filesystem::resize_file(path("huge"), std::uintmax_t{1} << 43);  // a hole, no bytes
  const auto read = read_file(path("huge"), 1 << 20);
  ASSERT_FALSE(read);
  expect_error(read.error(), ErrorCode::kInput, "larger than 1048576 bytes");
}

TEST_F(FileTest, AFileWithoutASizeIsReadUpToTheLimit) {
  EXPECT_FALSE(read_file("/dev/zero", 1 << 20));
  EXPECT_FALSE(read_file("/proc/self/status")->empty());
}

TEST_F(FileTest, WritingIntoAMissingFolderNamesIt) {
  const auto written = write_file_durably(path("none") / "a", "bytes");
  ASSERT_FALSE(written);
  expect_error(written.error(), ErrorCode::kStorage, path("none").string());
}

TEST_F(FileTest, AFailedWriteLeavesTheOldFileAndNoHalf) {
  ASSERT_TRUE(write_file_durably(path("a"), "old"));
  std::filesystem::create_symlink("/dev/full", path("a.tmp"));
  const auto written = write_file_durably(path("a"), "new");
  ASSERT_FALSE(written);
  expect_error(written.error(), ErrorCode::kStorage, "No space left");
  EXPECT_TRUE(may_succeed_later(written.error()));
  EXPECT_EQ(read_file(path("a")).value(), "old");
  EXPECT_FALSE(std::filesystem::is_symlink(path("a.tmp")));
}

TEST_F(FileTest, AFailedRenameLeavesNoHalf) {
  std::filesystem::create_directory(path("folder"));
  const auto written = write_file_durably(path("folder"), "bytes");
  ASSERT_FALSE(written);
  expect_error(written.error(), ErrorCode::kStorage, "cannot rename");
  EXPECT_FALSE(may_succeed_later(written.error()));
  EXPECT_FALSE(std::filesystem::exists(path("folder.tmp")));
}

}  // namespace
}  // namespace detol
