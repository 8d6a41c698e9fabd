#include "core/mapped_file.h"

#include <sys/stat.h>

#include <filesystem>
#include <optional>
#include <string_view>

#include <gtest/gtest.h>

#include "core/file.h"
#include "tests/support/temp_folder.h"

namespace detol {
namespace {

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

class MappedFileTest : public testing::Test {
 protected:
  std::filesystem::path path() const { return folder_.path() / "a"; }

 private:
  testing_support::TempFolder folder_;
};

TEST_F(MappedFileTest, HasTheBytesOfTheFile) {
  ASSERT_TRUE(write_file_durably(path(), "some bytes"));
  EXPECT_EQ(text_of(MappedFile::open(path()).value().bytes()), "some bytes");
}

TEST_F(MappedFileTest, AnEmptyFileHasNone) {
  ASSERT_TRUE(write_file_durably(path(), ""));
  EXPECT_TRUE(MappedFile::open(path()).value().bytes().empty());
}

TEST_F(MappedFileTest, SharedBytesOutliveIt) {
  ASSERT_TRUE(write_file_durably(path(), "some bytes"));
  std::optional<MappedFile> file = MappedFile::open(path()).value();
  const auto shared = file->share(5);
  file.reset();
  std::filesystem::remove(path());
  EXPECT_EQ(text_of({shared.get(), 5}), "bytes");
}

TEST_F(MappedFileTest, WhatIsNoFileIsRefused) {
  EXPECT_FALSE(MappedFile::open(path()));
  std::filesystem::create_directory(path());
  EXPECT_FALSE(MappedFile::open(path()));
  std::filesystem::remove(path());
  ASSERT_EQ(::mkfifo(path().c_str(), 0600), 0);
  EXPECT_FALSE(MappedFile::open(path()));
}

}  // namespace
}  // namespace detol
