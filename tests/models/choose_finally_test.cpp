// The choice among the best trials by cross-validation.

#include "models/choose_finally.h"

#include <cmath>

#include "studies/best_trial.h"
#include "tests/models/linear_study.h"
#include "tests/support/in_child.h"

namespace detol {
namespace {

class ChooseFinally : public testing_support::LinearStudy {
 protected:
  ChooseFinally() { split = "{validation: 0.25, test: 0.25}, columns: {drop: [t]}"; }

  // Writes nine equal trials, of which the last is the best.
  void write_nine() {
    std::vector<Line> lines;
    for (int i = 0; i < 9; ++i)
      lines.push_back({.accuracy = 0.5 + 0.01 * i, .epochs = 3, .best_epoch = 3});
    write_study(lines);
  }

  void choose(const std::string& study = "lin") const {
    testing_support::in_child([&] {
      RunOptions run;
      run.storage = storage();
      run.workers = 1;
      choose_finally(run, study);
    });
  }
  std::vector<event::Model> models() const { return models_of(opened("lin")).value(); }
};

// A quarter of what nine equal trials cost is two of them on one fold, of which three of fifteen
// records validate.
TEST_F(ChooseFinally, CostsAQuarterOfTheSearchAtMost) {
  write_nine();
  choose();
  const auto chosen = models();
  ASSERT_EQ(chosen.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(chosen[i].trial, 8 - i);
    EXPECT_EQ(chosen[i].kind, ModelKind::kCrossValidated);
    EXPECT_EQ(chosen[i].trained_on, "1 of 5 folds");
    EXPECT_EQ(chosen[i].epochs, 3);
    EXPECT_EQ(chosen[i].first, 1);
    const double right = 3 * metric_of(chosen[i], "val_accuracy").value();
    EXPECT_NEAR(right, std::round(right), 1e-9);
    EXPECT_GE(right, 1);
  }
  EXPECT_FALSE(std::filesystem::exists(folder() / "detol.db.d/lin/models/folds"));
}

TEST_F(ChooseFinally, IsRepeatedOnlyForABetterTrial) {
  write_nine();
  choose();
  const auto first = models();
  choose();
  EXPECT_EQ(models().size(), first.size());
  const Line better{.accuracy = 0.95, .epochs = 3, .best_epoch = 3};
  append_line(*Ledger::open(storage()).value(), 1, 9, better);
  choose();
  EXPECT_GT(models().size(), first.size());
  EXPECT_EQ(models().back().first, 3);
}

TEST_F(ChooseFinally, IsOfASmallTableWhichMayBeSplitAnew) {
  more = "search: {final_choice: none}\n";
  write_nine();
  choose();
  EXPECT_TRUE(models().empty());
}

TEST_F(ChooseFinally, IsNotOfATableInTheOrderOfTime) {
  split = "{validation: 0.25, test: 0.25, by: time, column: t}";
  write_nine();
  choose();
  EXPECT_TRUE(models().empty());
}

TEST_F(ChooseFinally, IsNotOfWhatTrainsNoNetwork) {
  const StudyConfig asked = load_study_config(
                                "version: 1\nstudy: asked\nexternal: {}\n"
                                "parameters: {x: {type: float, low: 0, high: 1}}\n"
                                "objectives: [{metric: val_loss, direction: minimize}]\n",
                                "s.yaml")
                                .value();
  const StudyId id = begin(asked);
  const auto ledger = Ledger::open(storage()).value();
  for (TrialId trial = 0; trial < 20; ++trial)
    append_trial(*ledger, id, trial, asked.space.at(std::vector<double>{0.05 * double(trial)}),
                 {{"val_loss", 1.0 + double(trial)}});
  choose("asked");
  EXPECT_TRUE(models_of(opened("asked")).value().empty());
  EXPECT_FALSE(chosen_trial(opened("asked")).value());
}

}  // namespace
}  // namespace detol
