// A study opened for reading, and who runs it.

#include <unistd.h>

#include "tests/studies/study_base.h"

namespace detol {
namespace {

constexpr const char* kSphere = "version: 1\nstudy: s\nfunction: {name: sphere}\n";

using OpenedStudy = testing_support::StudyBase;

TEST_F(OpenedStudy, IsTheOneThatIsNamed) {
  StudyConfig config = load_study_config(kSphere, "s.yaml").value();
  for (const char* name : {"first", "second", "third"}) {
    config.study = name;
    begin(config);
  }
  EXPECT_EQ(opened("second").record.name, "second");
  EXPECT_EQ(opened("second").record.config, config.text);
}

TEST_F(OpenedStudy, OfThoseBegunAtOnceIsTheOneOfTheLargestNumber) {
  StudyConfig config = load_study_config(kSphere, "s.yaml").value();
  for (const char* name : {"a", "c", "b"}) {
    config.study = name;
    begin(config, {.created_s = 100});
  }
  EXPECT_EQ(opened().record.name, "b");
}

TEST_F(OpenedStudy, IsMissedInABaseWithoutStudies) {
  ASSERT_TRUE(Ledger::open(storage()));
  const auto none = open_study(storage(), "");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::kEmpty);
  EXPECT_EQ(open_study((folder() / "none.db").string(), "").error().code, ErrorCode::kStudy);
}

TEST_F(OpenedStudy, IsRunByWhoeverHasLockedIt) {
  begin(kSphere);
  auto ledger = Ledger::open(storage()).value();
  const StudyRecord record = opened("s").record;
  EXPECT_FALSE(runner_of(storage(), record).value()) << "the ledger may run another study";
  ASSERT_TRUE(ledger->open_study("s"));
  const auto runner = runner_of(storage(), record).value();
  ASSERT_TRUE(runner);
  EXPECT_EQ(runner->pid, ::getpid());
  ledger.reset();
  EXPECT_FALSE(runner_of(storage(), record).value());
}

TEST(RunnerOfAStudy, IsFoundByItsNumberAndByItsNameWhereThereIsNone) {
  const std::vector<Writer> writers = {{.study = "s", .study_id = 3}, {.study = "t"}};
  EXPECT_EQ(find_runner(writers, 3, "renamed"), &writers[0]);
  EXPECT_EQ(find_runner(writers, 4, "s"), nullptr) << "another study has the name now";
  EXPECT_EQ(find_runner(writers, 4, "t"), &writers[1]);
  EXPECT_EQ(find_runner(writers, 4, "u"), nullptr);
}

TEST(ShownState, OfAStudyThatRunsWithoutAProcessIsKilled) {
  EXPECT_EQ(shown_state(StudyPhase::kRunning, true), "RUNNING");
  EXPECT_EQ(shown_state(StudyPhase::kRunning, false), "KILLED");
  EXPECT_EQ(shown_state(StudyPhase::kDone, false), "DONE");
}

}  // namespace
}  // namespace detol
