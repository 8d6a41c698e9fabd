#include "models/child_trainings.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "tests/support/temp_folder.h"

namespace detol {
namespace {

const Evaluation kDone{.end = Evaluation::End::kFinished, .reason = {}};

class Children : public testing::Test {
 protected:
  // Returns how often this was called, in whichever process.
  int count() const {
    std::ofstream(file(), std::ios::app) << '.';
    return static_cast<int>(std::filesystem::file_size(file()));
  }
  std::filesystem::path file() const { return folder_.path() / "starts"; }

 private:
  testing_support::TempFolder folder_;
};

TEST_F(Children, ThatCrashAreStartedAgainAsOftenAsIsSaid) {
  const std::vector<ChildTraining> trainings = {
      [this](int, const Reporter&, Control&) -> Result<Evaluation> {
        count();
        ::_exit(9);
      }};
  const auto ends = train_in_children(
      {.trainings = trainings, .attempts = 3, .on_report = [](auto, const auto&) {}});
  ASSERT_TRUE(ends);
  EXPECT_EQ(ends->front().end, Evaluation::End::kFailed);
  EXPECT_EQ(ends->front().cause, Cause::kCrashed);
  EXPECT_EQ(std::filesystem::file_size(file()), 3u);
}

TEST_F(Children, GoOnAfterEveryCrashBehindANewEpoch) {
  std::vector<int> epochs;
  const std::vector<ChildTraining> trainings = {
      [this](int, const Reporter& report, Control&) -> Result<Evaluation> {
        const int start = count();
        report({.epoch = start, .metrics = {}}, false);
        if (start < 5) ::_exit(9);
        return kDone;
      }};
  const auto ends = train_in_children(
      {.trainings = trainings, .attempts = 2, .on_report = [&](auto, const EpochReport& report) {
         epochs.push_back(report.epoch);
       }});
  ASSERT_TRUE(ends);
  EXPECT_EQ(ends->front().end, Evaluation::End::kFinished);
  EXPECT_EQ(epochs, (std::vector<int>{1, 2, 3, 4, 5}));
}

TEST_F(Children, ThatRepeatAnEpochAndCrashMakeNoProgress) {
  const std::vector<ChildTraining> trainings = {
      [this](int, const Reporter& report, Control&) -> Result<Evaluation> {
        if (count() > 9) return kDone;
        report({.epoch = 1, .metrics = {}}, false);
        ::_exit(9);
      }};
  const auto ends = train_in_children(
      {.trainings = trainings, .attempts = 2, .on_report = [](auto, const auto&) {}});
  ASSERT_TRUE(ends);
  EXPECT_EQ(ends->front().end, Evaluation::End::kFailed);
}

TEST_F(Children, HavePlacesOfTheirOwnAndAnswersInOrder) {
  std::vector<ChildTraining> trainings;
  for (int i = 0; i < 5; ++i) {
    trainings.emplace_back([i](int place, const Reporter& report, Control&) -> Result<Evaluation> {
      report({.epoch = 1 + place, .metrics = {{"loss", i / 2.0}}}, false);
      if (i == 3) return Evaluation{Evaluation::End::kFailed, Cause::kDiverged, "NaN"};
      return kDone;
    });
  }
  std::vector<double> losses(5);
  const auto ends = train_in_children(
      {.trainings = trainings, .at_once = 2, .on_report = [&](std::size_t i, const EpochReport& r) {
         EXPECT_LE(r.epoch, 2);
         losses[i] = r.metrics[0].value;
       }});
  ASSERT_TRUE(ends);
  EXPECT_EQ(losses, (std::vector<double>{0, 0.5, 1, 1.5, 2}));
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ((*ends)[i].end, i == 3 ? Evaluation::End::kFailed : Evaluation::End::kFinished);
  }
  EXPECT_EQ((*ends)[3].cause, Cause::kDiverged);
}

// Trains until it is suspended.
Result<Evaluation> train_for_ever(int, const Reporter& report, Control& control) {
  report({.epoch = 1, .metrics = {}}, false);
  while (!control.suspend) control.progress.fetch_add(1);
  return Evaluation{.end = Evaluation::End::kSuspended, .reason = {}};
}

TEST_F(Children, AreSuspendedByASignalAndTheRestDoNotBegin) {
  const std::vector<ChildTraining> trainings = {
      train_for_ever, [this](int, const Reporter&, Control&) -> Result<Evaluation> {
        count();
        return kDone;
      }};
  const auto ends = train_in_children(
      {.trainings = trainings, .on_report = [](auto, const auto&) { std::raise(SIGTERM); }});
  ASSERT_TRUE(ends);
  for (const Evaluation& one : *ends) EXPECT_EQ(one.end, Evaluation::End::kSuspended);
  EXPECT_FALSE(std::filesystem::exists(file()));
}

TEST_F(Children, AreSuspendedByTheErrorOfAnother) {
  const std::vector<ChildTraining> trainings = {
      train_for_ever, [](int, const Reporter&, Control&) -> Result<Evaluation> {
        return fail(ErrorCode::kInput, "the data are gone");
      }};
  const auto ends = train_in_children(
      {.trainings = trainings, .at_once = 2, .on_report = [](auto, const auto&) {}});
  ASSERT_FALSE(ends);
  EXPECT_EQ(ends.error().code, ErrorCode::kInput);
  EXPECT_EQ(ends.error().message, "the data are gone");
}

TEST_F(Children, WithoutMemoryFailAndThoseThatThrowAreAsIfTheyHadDied) {
  const std::vector<ChildTraining> trainings = {
      [](int, const Reporter&, Control&) -> Result<Evaluation> { throw std::bad_alloc(); },
      [](int, const Reporter&, Control&) -> Result<Evaluation> {
        throw std::runtime_error("no device");
      },
      [](int, const Reporter&, Control&) -> Result<Evaluation> {
        std::raise(SIGKILL);
        return kDone;
      }};
  const auto ends =
      train_in_children({.trainings = trainings, .on_report = [](auto, const auto&) {}});
  ASSERT_TRUE(ends);
  EXPECT_EQ((*ends)[0].cause, Cause::kOutOfMemory);
  EXPECT_EQ((*ends)[1].cause, Cause::kCrashed);
  EXPECT_EQ((*ends)[1].reason, "no device; 1 times in a row");
  EXPECT_EQ((*ends)[2].reason, "its process ended with signal 9; 1 times in a row");
}

TEST_F(Children, ReportNumbersAndLeaveOutWhatIsNone) {
  const std::vector<ChildTraining> trainings = {
      [](int, const Reporter& report, Control&) -> Result<Evaluation> {
        report({.epoch = 2, .part = 0.25, .metrics = {{"loss", 0.1}, {"auc", NAN}}}, false);
        return kDone;
      }};
  std::vector<EpochReport> reports;
  ASSERT_TRUE(
      train_in_children({.trainings = trainings, .on_report = [&](auto, const EpochReport& report) {
                           reports.push_back(report);
                         }}));
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0].epochs(), 2.25);
  ASSERT_EQ(reports[0].metrics.size(), 1u);
  EXPECT_EQ(reports[0].metrics[0].value, 0.1) << "every bit of it";
}

}  // namespace
}  // namespace detol
