// Targets, the settings that may change between runs, and the run folder.

#include <stdlib.h>

#include <utility>

#include <gtest/gtest.h>

#include "encodings/study/target.h"
#include "scheduler/processes/run_folder.h"
#include "tests/support/temp_folder.h"

namespace detol {
namespace {

using testing_support::TempFolder;

TEST(Target, ReadsBothDirections) {
  const Target high = parse_target("val_accuracy>=0.9").value();
  EXPECT_TRUE(high.is_reached_by(0.9));
  EXPECT_FALSE(high.is_reached_by(0.89));
  const Target low = parse_target("val_loss<=3e-1").value();
  EXPECT_TRUE(low.is_reached_by(0.3));
  EXPECT_FALSE(low.is_reached_by(0.31));
  EXPECT_EQ(to_text(parse_target(to_text(low)).value()), to_text(low));
}

TEST(Target, RefusesAnythingElse) {
  for (const char* text : {"", "val_loss", "val_loss=3", ">=3", "val_loss<3",
                           "val_loss<=", "a>=nan", "a>=3x", "a>=inf"})
    EXPECT_FALSE(parse_target(text)) << text;
}

// The environment says where a run folder lies.
class RunFolderTest : public testing::Test {
 protected:
  RunFolderTest() { ::setenv("XDG_RUNTIME_DIR", folder.path().c_str(), 1); }
  ~RunFolderTest() override {
    ::unsetenv("XDG_RUNTIME_DIR");
    ::unsetenv("TMPDIR");
  }
  static RunFolder make() {
    RunOptions options;
    options.storage = "detol.db";
    return std::move(*RunFolder::make(options));
  }
  // The folder in which the run folder's parent lies.
  static std::filesystem::path place_of(const RunFolder& run) {
    return run.path().parent_path().parent_path();
  }

  TempFolder folder;
};

TEST_F(RunFolderTest, GoesWithItsOwnerAndLeavesNothing) {
  std::filesystem::path memory;
  {
    const RunFolder run = make();
    memory = run.memory();
    EXPECT_TRUE(std::filesystem::exists(run.path() / "run.json"));
    EXPECT_EQ(place_of(run), folder.path());
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  EXPECT_FALSE(std::filesystem::exists(memory));
}

TEST_F(RunFolderTest, LiesInTmpdirWhereThereIsNoRuntimeFolder) {
  const TempFolder other;
  ::setenv("TMPDIR", other.path().c_str(), 1);
  for (const char* unusable : {"", "relative", "/nowhere", "/proc", "/dev/null"}) {
    ::setenv("XDG_RUNTIME_DIR", unusable, 1);
    EXPECT_EQ(place_of(make()), other.path()) << unusable;
  }
}

TEST_F(RunFolderTest, LiesInTmpWhereNothingElseIsUsable) {
  ::setenv("XDG_RUNTIME_DIR", "/nowhere", 1);
  ::setenv("TMPDIR", "/proc", 1);
  EXPECT_EQ(place_of(make()), "/tmp");
}

TEST_F(RunFolderTest, TheClockOfTheFirstMasterHoldsForTheNext) {
  const RunFolder run = make();
  EXPECT_DOUBLE_EQ(wall_zero_s(run.path(), 30, 100).value(), 70);
  EXPECT_DOUBLE_EQ(wall_zero_s(run.path(), 40, 115).value(), 70);
}

TEST_F(RunFolderTest, AnExitReasonIsTakenOnceAndTheFirstCounts) {
  const RunFolder run = make();
  write_exit_reason(run.path(), 3, "no such file: train.idx");
  write_exit_reason(run.path(), 3, "another rank is gone");
  EXPECT_EQ(take_exit_reason(run.path(), 2), "");
  EXPECT_EQ(take_exit_reason(run.path(), 3), "no such file: train.idx");
  EXPECT_EQ(take_exit_reason(run.path(), 3), "");
}

}  // namespace
}  // namespace detol
