#include "core/fault.h"

#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>

#include "core/file.h"
#include "core/table.h"

namespace detol {
namespace {

class FaultSetting : public testing::Test {
 protected:
  static Result<void> check(const char* text) {
    ::setenv("DETOL_FAULT", text, 1);
    Result<void> checked = check_fault_setting();
    ::unsetenv("DETOL_FAULT");
    return checked;
  }
};

TEST_F(FaultSetting, IsInertWhenNothingIsSet) {
  EXPECT_TRUE(check_fault_setting());
  EXPECT_EQ(fault("file.write"), Fault::kNone);
}

TEST_F(FaultSetting, TakesEveryActionThatASiteLists) {
  EXPECT_TRUE(check("file.write:1:enospc"));
  EXPECT_TRUE(check("file.rename:12:kill"));
}

TEST_F(FaultSetting, RefusesWhatItDoesNotKnowByName) {
  const auto refusal = [](const char* text) { return check(text).error().message; };
  EXPECT_NE(refusal("file.wrte:1:kill").find("did you mean 'file.write'?"), std::string::npos);
  EXPECT_NE(refusal("file.write:1:nan").find("takes the actions"), std::string::npos);
  EXPECT_NE(refusal("file.write:0:kill").find("from 1"), std::string::npos);
  EXPECT_NE(refusal("file.write").find("site:nth:action"), std::string::npos);
}

TEST(Patience, TakesANumberUpToOneAndRefusesAnythingElse) {
  const auto check = [](const char* text) {
    ::setenv("DETOL_TEST_PATIENCE", text, 1);
    const Result<void> checked = check_fault_setting();
    ::unsetenv("DETOL_TEST_PATIENCE");
    return checked ? "" : checked.error().message;
  };
  for (const char* text : {"", "1", "0.05", "1e-3"}) EXPECT_EQ(check(text), "") << text;
  for (const char* text : {"abc", "0", "-1", "2", "0.5x", " 0.5", "nan", "inf", "1e-999"})
    EXPECT_NE(check(text).find("write a number"), std::string::npos) << text;
}

TEST(FaultSites, AreDescribedAndTakeKnownActions) {
  for (const FaultSite& site : fault_sites()) {
    EXPECT_FALSE(site.summary.empty()) << site.name;
    EXPECT_NE(site.actions.find("kill"), std::string_view::npos) << site.name;
  }
}

TEST(FaultDeath, LeavesItsProcessInTheMarkAndEveryVisitInTheTrace) {
  // The mark is in the working folder, because the child of the death test runs this test again.
  const std::string mark = "fault_test.mark";
  const std::string trace = "fault_test.trace";
  std::filesystem::remove(mark);
  std::filesystem::remove(trace);
  const auto visit = [&] {
    ::setenv("DETOL_FAULT", "file.write:1:exit", 1);
    ::setenv("DETOL_FAULT_MARK", mark.c_str(), 1);
    ::setenv("DETOL_FAULT_TRACE", trace.c_str(), 1);
    (void)fault("file.rename");
    (void)fault("file.write");
  };
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(visit(), testing::ExitedWithCode(1), "");
  const std::string pid = read_file(mark).value();
  EXPECT_EQ(read_file(trace).value(), pid.substr(0, pid.size() - 1) + " file.rename\n" +
                                          pid.substr(0, pid.size() - 1) + " file.write\n");
}

TEST(FaultDeath, KillsAtTheNthVisit) {
  const auto visit = [] {
    ::setenv("DETOL_FAULT", "file.write:2:kill", 1);
    (void)fault("file.write");
    (void)fault("file.rename");
    (void)fault("file.write");
  };
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(visit(), testing::KilledBySignal(SIGKILL), "");
}

}  // namespace
}  // namespace detol
