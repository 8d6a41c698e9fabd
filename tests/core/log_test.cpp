#include "core/log.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "core/file.h"
#include "tests/support/temp_folder.h"

namespace detol {
namespace {

TEST(Log, TheFileHasEveryLevelAndTheTerminalOnlyItsOwn) {
  const testing_support::TempFolder folder;
  const auto path = folder.path() / "log";
  testing::internal::CaptureStderr();
  ASSERT_TRUE(set_up_log({.level = LogLevel::kWarning, .file = path.string()}));
  log_debug("epoch {}", 3);
  log_warning("lost {}", "worker-1");
  ASSERT_TRUE(set_up_log({}));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "lost worker-1\n");
  const std::string lines = read_file(path).value();
  EXPECT_NE(lines.find("debug epoch 3\n"), std::string::npos) << lines;
  EXPECT_NE(lines.find("warning lost worker-1\n"), std::string::npos) << lines;
}

TEST(Log, EqualWarningsArePrintedOnceIfAskedSoAndTheFileHasAll) {
  const testing_support::TempFolder folder;
  const auto path = folder.path() / "log";
  testing::internal::CaptureStderr();
  ASSERT_TRUE(set_up_log({.file = path.string(), .once = true}));
  for (int i = 0; i < 3; ++i) log_warning("no space");
  log_warning("no more space");
  ASSERT_TRUE(set_up_log({}));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "no space\nno more space\n");
  const std::string lines = read_file(path).value();
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 4) << lines;
}

TEST(Log, AFileThatCannotBeWrittenIsNamed) {
  const auto set_up = set_up_log({.level = LogLevel::kInfo, .file = "/proc/no/log"});
  ASSERT_FALSE(set_up);
  EXPECT_EQ(set_up.error().code, ErrorCode::kStorage);
  EXPECT_NE(set_up.error().message.find("/proc/no/log"), std::string::npos);
}

TEST(Log, NothingGoesToStdout) {
  testing::internal::CaptureStdout();
  log_error("to stderr");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
}

TEST(StderrRedirect, PutsLinesIntoAFileAndStderrBackAfterwards) {
  const testing_support::TempFolder folder;
  const auto path = folder.path() / "stderr";
  testing::internal::CaptureStderr();
  {
    const auto redirect = StderrRedirect::into(path.string());
    ASSERT_TRUE(redirect);
    log_warning("lost {}", "worker-1");
  }
  log_warning("on the terminal again");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "on the terminal again\n");
  EXPECT_EQ(read_file(path).value(), "lost worker-1\n");
}

TEST(StderrRedirect, AFileThatCannotBeWrittenLeavesStderrAsItWas) {
  testing::internal::CaptureStderr();
  ASSERT_FALSE(StderrRedirect::into("/proc/no/log"));
  log_warning("still here");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "still here\n");
}

}  // namespace
}  // namespace detol
