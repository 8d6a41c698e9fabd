#include "models/child_trainings.h"

#include <unistd.h>

#include <algorithm>
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

}  // namespace
}  // namespace detol
