#include "core/program.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/temp_folder.h"

namespace detol {
namespace {

namespace fs = std::filesystem;
using testing_support::TempFolder;

TEST(ProgramPath, IsTheRealPathOfTheRunningProgram) {
  EXPECT_EQ(program_path(), fs::canonical("/proc/self/exe"));
}

// A copy of this program runs the second half of the test.
TEST(ProgramPath, OpensTheRunningProgramOnceItsFileIsGone) {
  if (const char* copy = std::getenv("DETOL_TEST_COPY")) {
    ASSERT_EQ(program_path(), copy);
    fs::remove(copy);
    EXPECT_EQ(program_path(), "/proc/self/exe");
    return;
  }
  const TempFolder folder;
  const std::string copy = fs::canonical(folder.path()) / "copy";
  fs::copy_file(program_path(), copy);
  const std::string command =
      "DETOL_TEST_COPY=" + copy + " " + copy + " --gtest_filter='ProgramPath.Opens*'";
  EXPECT_EQ(std::system(command.c_str()), 0);
}

TEST(FindProgram, SkipsFoldersAndPlainFilesOfThatName) {
  const TempFolder folder;
  for (const char* place : {"a", "b", "c"}) fs::create_directories(folder.path() / place);
  fs::create_directory(folder.path() / "a" / "tool");
  std::ofstream(folder.path() / "b" / "tool") << "text";
  const fs::path program = folder.path() / "c" / "tool";
  std::ofstream(program) << "#!/bin/sh\n";
  fs::permissions(program, fs::perms::owner_all);
  const std::string before = std::getenv("PATH");
  const std::string places = (folder.path() / "a").string() + ":" + (folder.path() / "b").string() +
                             ":" + (folder.path() / "c").string();
  ::setenv("PATH", places.c_str(), 1);
  EXPECT_EQ(find_program("tool"), program.string());
  EXPECT_EQ(find_program("other"), "");
  ::setenv("PATH", before.c_str(), 1);
  EXPECT_EQ(find_program(program.string()), program.string());
  EXPECT_EQ(find_program((folder.path() / "a" / "tool").string()), "");
}

}  // namespace
}  // namespace detol
