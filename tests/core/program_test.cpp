#include "core/program.h"

#include <cstdlib>
#include <filesystem>
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

}  // namespace
}  // namespace detol
