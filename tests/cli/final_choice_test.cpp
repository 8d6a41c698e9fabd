// The choice among the best trials by cross-validation, and what `best` makes of it.

#include "models/model_card.h"
#include "models/test_score.h"
#include "report/gathering/live_study.h"
#include "report/gathering/report_source.h"
#include "report/report.h"
#include "tests/cli/command_on_base.h"
#include "tests/models/linear_study.h"

namespace detol {
namespace {

class FinalChoice : public testing_support::CommandsOn<testing_support::LinearStudy> {
 protected:
  // Records a choice among trials with these accuracies over the folds.
  void choose(std::int64_t first, const std::vector<std::pair<TrialId, double>>& scores) const {
    std::vector<Event> models;
    for (const auto& [trial, accuracy] : scores) {
      models.push_back(event::Model{.model = first + static_cast<std::int64_t>(models.size()),
                                    .trial = trial,
                                    .kind = ModelKind::kCrossValidated,
                                    .state = ModelState::kComplete,
                                    .first = first,
                                    .metrics = {{"val_accuracy", accuracy}}});
    }
    ASSERT_TRUE(Ledger::open(storage()).value()->append(1, models));
  }
};

TEST_F(FinalChoice, IsTheBestMeanAmongTheTrialsOfTheLastChoice) {
  write_study({{.accuracy = 0.9}, {.accuracy = 0.8}, {.accuracy = 0.7}});
  EXPECT_EQ(json({"best", "lin"})["trial"], 0);
  choose(1, {{0, 0.6}, {1, 0.8}, {2, 0.7}});
  EXPECT_EQ(json({"best", "lin"})["trial"], 1);
  EXPECT_EQ(json({"trial", "lin", "best"})["trial"], 1);
  EXPECT_EQ(json({"best", "lin", "--top", "1"})[0]["trial"], 0) << "a list is by value";
  choose(4, {{0, 0.6}, {2, 0.7}});
  const Json best = json({"best", "lin"});
  EXPECT_EQ(best["trial"], 2);
  EXPECT_EQ(best["cross_validation"]["val_accuracy"], 0.7);
}

TEST_F(FinalChoice, IsShownOfTheOneTrialThatItIs) {
  write_study({{.accuracy = 0.9}, {.accuracy = 0.8}, {.accuracy = 0.7}});
  choose(1, {{0, 0.6}, {1, 0.8}});
  const Json trials = json({"trials", "lin"});
  EXPECT_TRUE(trials[0]["chosen"].is_null());
  EXPECT_EQ(trials[1]["chosen"], "cross-validation");
  EXPECT_TRUE(trials[2]["chosen"].is_null());
  EXPECT_EQ(json({"status", "lin"})["chosen"], "1 (cross-validation)");
  EXPECT_EQ(json({"studies"})[0]["chosen"], "1 (cross-validation)");
}

// Returns the test metric of the trial in a report.
nlohmann::json test_in(const nlohmann::json& report, TrialId trial) {
  for (const auto& row : report["found"]["tests"])
    if (row["trial"] == trial && row["metric"] == "test_accuracy") return row;
  return {};
}

TEST_F(FinalChoice, AndItsTestScoreAreTheSameForEverybodyWhoAsks) {
  write_study({{.slope = 1, .accuracy = 0.9}, {.slope = -1, .accuracy = 0.8}});
  choose(1, {{0, 0.6}, {1, 0.8}});
  const auto expect_score = [&](const Json& score) {
    const Json best = json({"best", "lin"});
    EXPECT_EQ(best["trial"], 1);
    const Json shown = best.value("test", Json());
    EXPECT_EQ(shown.is_null() ? Json() : shown["test_accuracy"], score);
    EXPECT_EQ(json({"trial", "lin", "best"})["trial"], 1);
    const OpenStudy study = opened("lin");
    LiveStudy live(storage(), study.record.id);
    for (const Json& report : {Json(model_of(read_source(study, storage()).value())),
                               Json::parse(live.model(study).value().json, nullptr, false)}) {
      EXPECT_EQ(report["found"]["best"]["trial"], 1);
      const Json test = test_in(report, 1);
      EXPECT_EQ(test.is_null() ? Json() : test["value"], score);
      if (!score.is_null()) {
        EXPECT_EQ(test["interval"], best["test_interval"]["test_accuracy"]);
      }
    }
    const Model exported = trained_model(study, data(), storage(), trial(1)).value();
    const std::string card = model_card(study, data(), exported).value();
    EXPECT_EQ(card.find("test_accuracy") == std::string::npos, score.is_null());
  };
  expect_score(Json());
  EXPECT_EQ(json({"test", "lin"})["trial"], 1);
  expect_score(2.0 / 5);
  const Line better{.slope = 100, .offset = -45, .accuracy = 0.85, .best_epoch = 2};
  report(*Ledger::open(storage()).value(), 1, better, 2);
  expect_score(Json());
  EXPECT_EQ(json({"test", "lin"})["trial"], 1);
  expect_score(1.0);
}

TEST_F(FinalChoice, CountsNoMoreOnceABetterTrialIsThere) {
  write_study({{.accuracy = 0.9}, {.accuracy = 0.8}, {.accuracy = 0.95}});
  choose(1, {{0, 0.6}, {1, 0.8}});
  EXPECT_EQ(json({"best", "lin"})["trial"], 2);
}

}  // namespace
}  // namespace detol
