// Tests what a user sees of a running study, in virtual time.

#include "scheduler/monitor/progress.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "core/log.h"
#include "scheduler/monitor/live_view.h"
#include "tests/golden.h"
#include "tests/scheduler/fake_study.h"
#include "tests/support/temp_folder.h"

namespace detol {
namespace {

using testing_support::expect_golden;
using testing_support::FakeStudy;
using testing_support::TempFolder;

StudyMonitor::Study described(const FakeStudy& study) {
  return {.name = study.config.study,
          .objectives = study.config.objectives,
          .max_epochs = study.epochs,
          .budget = parse_budget(study.budget).value(),
          .repeats = study.config.repeats};
}

std::string printed(FakeStudy& study, LinesFor lines = LinesFor::kEvents) {
  const auto progress = make_progress_lines(described(study), study.clock, lines);
  study.observers = {progress.get()};
  testing::internal::CaptureStderr();
  const auto why = study.run();
  progress->end(why.value_or(""), study.driver->state());
  return testing::internal::GetCapturedStderr();
}

TEST(ProgressLines, TellEveryEventWithTheBudgetTheBestAndTheTimeLeft) {
  FakeStudy study(2);
  study.budget = "3trials";
  expect_golden("progress_lines", printed(study));
}

TEST(ProgressLines, SayThatARunOfTwoLimitsEndsWithTheFirst) {
  FakeStudy study;
  study.budget = "40trials,20s";  // a trial takes four seconds
  EXPECT_NE(printed(study).find("ETA 8 s"), std::string::npos);
}

TEST(ProgressLines, ForeseeNoEndOfTrialsBeforeSomeHaveEnded) {
  FakeStudy study;
  study.budget = "20trials";
  const std::string text = printed(study);
  EXPECT_LT(text.find("trial 2 epoch 3"), text.find("ETA"));
  EXPECT_NE(text.find("ETA"), std::string::npos);
}

TEST(ProgressLines, ComeAtMostEveryTenSecondsWhereTimeCounts) {
  FakeStudy study;
  study.budget = "10trials";  // 40 seconds: a trial takes four
  const std::string text = printed(study, LinesFor::kTime);
  std::istringstream lines(text);
  int count = 0;
  for (std::string line; std::getline(lines, line);)
    count += line.find(" % |") != std::string::npos ? 1 : 0;
  EXPECT_EQ(count, 4) << text;
  EXPECT_NE(text.find(" 25 % | 3 trials: 2 complete, 1 running"), std::string::npos) << text;
  EXPECT_EQ(text.find("starts on"), std::string::npos) << text;
}

TEST(ProgressLines, RefusalsComeOncePerSecondAtMost) {
  FakeStudy study;
  study.refuses = [](double) { return true; };
  const std::string text = printed(study);
  EXPECT_NE(text.find("trial 0 FAIL too_large"), std::string::npos) << text;
  EXPECT_EQ(text.find("trial 1 "), std::string::npos) << text;
  EXPECT_NE(text.find("no trial has reported a number yet"), std::string::npos) << text;
}

TEST(ProgressLines, CallNoTrialTheBestWhereRepeatsDecideIt) {
  FakeStudy study;
  EXPECT_NE(printed(study).find("\nbest: trial "), std::string::npos);
  FakeStudy repeated;
  repeated.config.repeats = 1;
  const std::string text = printed(repeated);
  EXPECT_EQ(text.find("\nbest: trial "), std::string::npos) << text;
  EXPECT_NE(text.find("\nbest measured value: trial "), std::string::npos) << text;
}

// A live view whose terminal is a file, and a state with one running trial.
class LiveViewTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(study_.run());
    testing::internal::CaptureStderr();
    view_ = make_view();
  }
  void TearDown() override {
    if (view_) screen();
  }

  std::unique_ptr<Progress> make_view() {
    auto view = make_live_view(
        described(study_),
        {.stderr_file = folder_.path() / "stderr", .state_file = folder_.path() / "frame"},
        study_.clock);
    const std::vector<Event> events = study_.ledger.events(1).value();
    for (const Event& event : events) view->recall(event);
    view->recall(event::StudyState{StudyPhase::kRunning, study_.budget, 0});
    return view;
  }

  const StudyState& state() const { return study_.driver->state(); }
  void turn(double seconds) {
    study_.clock.now += seconds;
    view_->turned(state(), {.spent = {.wall_s = study_.clock.now}});
  }

  // Everything that the terminal got.
  std::string screen() {
    view_.reset();
    return testing::internal::GetCapturedStderr();
  }

  static int frames_in(const std::string& text) {
    int count = 0;
    for (auto at = text.find("\033[J"); at != std::string::npos; at = text.find("\033[J", at + 1))
      ++count;
    return count;
  }

  FakeStudy study_;
  TempFolder folder_;
  std::unique_ptr<Progress> view_;
};

TEST_F(LiveViewTest, IsDrawnOncePerSecondWhenNothingHappens) {
  for (int i = 0; i < 100; ++i) turn(0.1);
  EXPECT_EQ(frames_in(screen()), 10);
}

TEST_F(LiveViewTest, IsDrawnAtMostFourTimesPerSecond) {
  for (int i = 0; i < 100; ++i) {
    view_->happened(event::Accounted{.wall_s = 1, .device_s = 1}, state());
    turn(0.01);
  }
  EXPECT_LE(frames_in(screen()), 4);
}

TEST_F(LiveViewTest, LinesOfAllProcessesAreShownOnceWithACount) {
  std::ofstream other(folder_.path() / "stderr", std::ios::app);
  other << "trial 1: its worker ended\n" << std::flush;
  log_warning("the disk is full");
  other << "trial 1: its worker ended\nhalf a li" << std::flush;
  turn(1);
  const std::string text = screen();
  EXPECT_NE(text.find("! trial 1: its worker ended (2x)"), std::string::npos) << text;
  EXPECT_NE(text.find("! the disk is full"), std::string::npos) << text;
  EXPECT_EQ(text.find("half"), std::string::npos) << text;
}

TEST_F(LiveViewTest, ASecondMasterDrawsOverTheFrameOfTheFirst) {
  turn(1);
  view_ = nullptr;  // as if it had been killed
  view_ = make_view();
  turn(1);
  const std::string text = screen();
  EXPECT_EQ(frames_in(text), 2);
  EXPECT_NE(text.find("\033[J\r\033["), std::string::npos) << text;
}

TEST_F(LiveViewTest, TheLastFrameStaysAndStderrIsGivenBack) {
  view_->happened(event::StudyState{StudyPhase::kDone, "6trials", 0}, state());
  view_->end("the budget is used up", state());
  const std::string text = screen();
  EXPECT_NE(text.find("elapsed  done"), std::string::npos) << text;
  EXPECT_TRUE(
      text.ends_with("\033[Jstudy fake: the budget is used up\n"
                     "look at it: `detol best fake`\n"))
      << text;
}

TEST_F(LiveViewTest, LinesAfterTheLastFrameArePrintedAtTheEnd) {
  turn(1);
  std::ofstream(folder_.path() / "stderr", std::ios::app) << "no data in /data\n";
  view_->end("", state());
  EXPECT_NE(screen().find("\033[Jno data in /data\n"), std::string::npos);
}

TEST_F(LiveViewTest, SaysThatItStopsAndHowToGoOn) {
  study_.clock.now += 1;
  view_->turned(state(), {.spent = {}, .is_stopping = true});
  EXPECT_NE(screen().find("stopping  resume with `detol resume fake`  Ctrl-C again ends at once"),
            std::string::npos);
}

}  // namespace
}  // namespace detol
