#include "core/file.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "core/descriptor.h"
#include "tests/support/temp_folder.h"

namespace detol {
namespace {

class FileTest : public testing::Test {
 protected:
  std::filesystem::path path(const char* name) const { return folder_.path() / name; }

  // Returns the names of all files in the folder.
  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
      found.push_back(entry.path().filename().string());
    return found;
  }

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
  EXPECT_EQ(names(), std::vector<std::string>{"a"});
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

TEST_F(FileTest, APipeIsRefusedAtOnceAlsoWhereNobodyWritesIt) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  const auto read = read_file(path("pipe"));
  ASSERT_FALSE(read);
  expect_error(read.error(), ErrorCode::kInput, "it is a pipe; name a regular file");
}

TEST_F(FileTest, APipeThatIsWantedIsReadUntilItIsClosed) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(path("pipe")) << std::string(200000, 'x'); });
  const auto read = read_file_or_pipe(path("pipe"), 1 << 20, 60);
  writer.join();
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->size(), 200000u);
}

TEST_F(FileTest, APipeOfAShellIsReadAlsoWhereItsWriterIsGone) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const Descriptor reading(ends[0]);
  { ASSERT_EQ(::write(Descriptor(ends[1]).get(), "text", 4), 4); }
  EXPECT_EQ(read_file_or_pipe("/dev/fd/" + std::to_string(ends[0]), 10, 60).value(), "text");
}

TEST_F(FileTest, APipeThatNobodyWritesIsGivenUp) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  const auto read = read_file_or_pipe(path("pipe"), 10, 0.01);
  ASSERT_FALSE(read);
  expect_error(read.error(), ErrorCode::kInput, "nobody has written and closed this pipe in time");
}

TEST_F(FileTest, APipeIsReadUpToTheLimit) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const Descriptor reading(ends[0]), writing(ends[1]);
  ASSERT_EQ(::write(writing.get(), "eleven long", 11), 11);
  const auto read = read_file_or_pipe("/dev/fd/" + std::to_string(ends[0]), 10, 60);
  ASSERT_FALSE(read);
  expect_error(read.error(), ErrorCode::kInput, "larger than 10 bytes");
}

TEST_F(FileTest, ADeviceIsRefusedAndNotReadWithoutAnEnd) {
  for (const char* device : {"/dev/zero", "/dev/null", "/dev/tty"}) {
    const auto read = read_file(device);
    ASSERT_FALSE(read) << device;
    expect_error(read.error(), ErrorCode::kInput, "it is a device");
  }
}

TEST_F(FileTest, ASocketIsRefusedByItsKind) {
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  path("s").string().copy(address.sun_path, sizeof address.sun_path - 1);
  const Descriptor socket(::socket(AF_UNIX, SOCK_STREAM, 0));
  ASSERT_EQ(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  const auto opened = open_regular_file(path("s"), ErrorCode::kStorage);
  ASSERT_FALSE(opened);
  expect_error(opened.error(), ErrorCode::kStorage, "it is a socket");
}

TEST_F(FileTest, ATooLargeFileIsRefusedBeforeItIsRead) {
  std::ofstream(path("huge")).put('x');
  std::filesystem::resize_file(path("huge"), std::uintmax_t{1} << 43);  // a sparse file
  const auto read = read_file(path("huge"), 1 << 20);
  ASSERT_FALSE(read);
  expect_error(read.error(), ErrorCode::kInput, "larger than 1048576 bytes");
}

TEST_F(FileTest, AFileWithoutASizeIsReadUpToTheLimit) {
  EXPECT_FALSE(read_file("/proc/self/status")->empty());
  EXPECT_FALSE(read_file("/proc/self/status", 10));
}

TEST_F(FileTest, WritingIntoAMissingFolderNamesIt) {
  const auto written = write_file_durably(path("none") / "a", "bytes");
  ASSERT_FALSE(written);
  expect_error(written.error(), ErrorCode::kStorage, path("none").string());
}

TEST_F(FileTest, AFailedWriteLeavesTheOldFileAndNoHalf) {
  ASSERT_TRUE(write_file_durably(path("a"), "old"));
  const auto before = ::signal(SIGXFSZ, SIG_IGN);
  rlimit unlimited{};
  ::getrlimit(RLIMIT_FSIZE, &unlimited);
  const rlimit small{1000, unlimited.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  const auto written = write_file_durably(path("a"), std::string(2000, 'x'));
  ::setrlimit(RLIMIT_FSIZE, &unlimited);
  ::signal(SIGXFSZ, before);
  ASSERT_FALSE(written);
  expect_error(written.error(), ErrorCode::kStorage, "cannot write");
  EXPECT_EQ(read_file(path("a")).value(), "old");
  EXPECT_EQ(names(), std::vector<std::string>{"a"});
}

TEST_F(FileTest, AFullDiskMayHaveRoomLater) {
  const auto refused = [](int reason) {
    errno = reason;
    return cannot("write", "a", ErrorCode::kStorage).value();
  };
  for (const int reason : {ENOSPC, EDQUOT, EROFS, EFBIG})
    EXPECT_TRUE(may_succeed_later(refused(reason))) << refused(reason).message;
  EXPECT_FALSE(may_succeed_later(refused(EACCES)));
  EXPECT_FALSE(may_succeed_later({ErrorCode::kStorage, "cannot write a: No space left on device"}))
      << "a reason is errno's value, not its text";
}

TEST_F(FileTest, AFailedRenameLeavesNoHalf) {
  std::filesystem::create_directory(path("folder"));
  const auto written = write_file_durably(path("folder"), "bytes");
  ASSERT_FALSE(written);
  expect_error(written.error(), ErrorCode::kStorage, "cannot rename");
  EXPECT_FALSE(may_succeed_later(written.error()));
  EXPECT_EQ(names(), std::vector<std::string>{"folder"});
}

}  // namespace
}  // namespace detol
