#include "scheduler/simulation/simulated_budgets.h"

#include <gtest/gtest.h>

#include "tests/support/temp_folder.h"

namespace detol {
namespace {

// Of a formula, whose trials take ten seconds each on one worker.
SimulationSettings ten_seconds_each() {
  SimulationSettings settings;
  settings.config = load_study_config(
                        "version: 1\nstudy: s\nfunction: {name: sphere}\n"
                        "search: {algorithm: random}\n",
                        "s.yaml")
                        .value();
  settings.pace.trial_s = SecondsRange{10, 10};
  settings.commit_s = 0;
  return settings;
}

double number(const Simulated& done, std::size_t row, std::string_view column) {
  const auto& names = done.rows.columns;
  return cell_number(
      done.rows
          .rows[row][static_cast<std::size_t>(std::ranges::find(names, column) - names.begin())]);
}

TEST(SimulatedBudgets, AreARowEachInTheirOrder) {
  const auto done =
      simulate_all(ten_seconds_each(), {},
                   {parse_budget("4trials").value(), parse_budget("9trials").value()}, 10);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_FALSE(done->has_failed);
  ASSERT_EQ(done->rows.rows.size(), 2u);
  EXPECT_EQ(done->rows.rows[0][0], Cell("4trials"));
  EXPECT_EQ(number(*done, 0, "trained"), 4);
  EXPECT_EQ(number(*done, 1, "trained"), 9);
  EXPECT_NEAR(number(*done, 0, "wall_h") * 3600, 40, 1);
  EXPECT_LE(number(*done, 1, "best"), number(*done, 0, "best"));
}

TEST(SimulatedBudgets, TakeCurvesOnlyOfAStudyThatReported) {
  const testing_support::TempFolder folder;
  const std::string storage = (folder.path() / "detol.db").string();
  SimulationSettings settings = ten_seconds_each();
  settings.ledger = storage;
  ASSERT_TRUE(simulate_all(settings, {}, {parse_budget("4trials").value()}, 10));
  GroupTimes measured;
  ASSERT_TRUE(take_curves_of(storage, "s", settings, measured));
  EXPECT_EQ(settings.curves->trials.size(), 4u);
  EXPECT_EQ(take_curves_of(storage, "t", settings, measured).error().code, ErrorCode::kStudy);
}

}  // namespace
}  // namespace detol
