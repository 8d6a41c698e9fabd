// The numbers of a report, of small studies whose numbers are known by hand.

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

#include "report/panels.h"
#include "tests/report/written_study.h"

namespace detol::testing_support {
namespace {

using Json = nlohmann::ordered_json;

TEST(ReportHistory, TheBestSoFarNeverGetsWorseAndSkipsFailedTrials) {
  WrittenStudy study;
  study.add({.curve = {3}});
  study.add({.curve = {0.5}, .state = TrialState::kFail, .reason = {EndCause::kFailure, "gone"}});
  study.add({.curve = {4}});
  study.add({.curve = {2}});
  const Json history = study.model()["history"]["by_trial"];
  EXPECT_EQ(history["trial"], Json({0, 1, 2, 3}));
  EXPECT_EQ(history["value"], Json({3.0, nullptr, 4.0, 2.0}));
  EXPECT_EQ(history["best"], Json({3.0, 3.0, 3.0, 2.0}));
}

TEST(ReportHistory, OfAMaximisedMetricRises) {
  WrittenStudy study({maximize("value")});
  study.add({.curve = {3}});
  study.add({.curve = {4}});
  study.add({.curve = {2}});
  EXPECT_EQ(study.model()["history"]["by_trial"]["best"], Json({3.0, 4.0, 4.0}));
}

TEST(ReportHistory, OverTimeFollowsTheEndsOfTrialsAndAddsUpTheirDeviceTime) {
  WrittenStudy study;
  study.add({.curve = {3}, .until_s = 30, .epoch_s = 7});
  study.add({.curve = {1}, .until_s = 10, .epoch_s = 2});
  const Json history = study.model()["history"]["by_end"];
  EXPECT_EQ(history["trial"], Json({1, 0}));
  EXPECT_EQ(history["wall_s"], Json({10.0, 30.0}));
  EXPECT_EQ(history["device_s"], Json({2.0, 9.0}));
  EXPECT_EQ(history["best"], Json({1.0, 1.0}));
}

// From 10 to 0 by the ends of the trials; the last one is no improvement.
TEST(ReportHistory, SaysWhenSoMuchOfTheWayToTheBestWasMade) {
  WrittenStudy study;
  study.add({.curve = {10}, .until_s = 10, .epoch_s = 1});
  study.add({.curve = {0}, .until_s = 40, .epoch_s = 4});
  study.add({.curve = {4}, .until_s = 20, .epoch_s = 2});
  study.add({.curve = {7}, .until_s = 50, .epoch_s = 8});
  const Json rows = study.model()["found"]["time_to_best"];
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(rows[0]["share"], 0.5);
  EXPECT_EQ(rows[0]["trial"], 2);
  EXPECT_EQ(rows[0]["wall_s"], 20.0);
  EXPECT_EQ(rows[0]["device_s"], 3.0);
  EXPECT_EQ(rows[1]["trial"], 1);
  EXPECT_EQ(rows[3]["wall_s"], 40.0);
  EXPECT_EQ(rows[3]["device_s"], 7.0);
  WrittenStudy flat;
  flat.add({.curve = {1}});
  flat.add({.curve = {1}});
  EXPECT_TRUE(flat.model()["found"]["time_to_best"].empty());
}

// The study is of a function.
TEST(ReportOfNoNetworks, LeavesOutThePanelsOfNetworks) {
  const Json model = WrittenStudy().model();
  EXPECT_TRUE(model["landscapes"].is_null());
  EXPECT_TRUE(model["networks"].is_null());
  for (const Json& lack : model["lacks"])
    EXPECT_EQ(lack.get<std::string>().find("landscape"), std::string::npos) << lack;
}

TEST(ReportBest, SaysWhichTrialHasTheBestValueWhereAnotherWasChosen) {
  WrittenStudy study;
  study.add({.curve = {2}});
  study.add({.curve = {1}});
  ReportSource source = study.source();
  EXPECT_FALSE(model_of(source)["found"]["best"].contains("by_value"));
  source.best = 0;
  const Json best = model_of(source)["found"]["best"];
  EXPECT_EQ(best["trial"], 0);
  EXPECT_EQ(best["by_value"]["trial"], 1);
  EXPECT_EQ(best["by_value"]["value"], 1.0);
}

TEST(ReportLandscapes, AreTheFilesThatCanBeRead) {
  const WrittenStudy study;
  ReportSource source = study.source();
  source.landscapes = {"{", "[]", R"({"trial":1,"random":{}})",
                       R"({"trial":2,"random":{},"path":{}})"};
  const Json landscapes = model_of(source)["landscapes"];
  ASSERT_EQ(landscapes["shown"].size(), 1U);
  EXPECT_EQ(landscapes["shown"][0]["trial"], 2);
}

TEST(ReportPareto, HasTheFrontAndTheVolumeThatItDominates) {
  WrittenStudy study({minimize("value"), minimize("cost")});
  study.add({.curve = {1}, .second = 3});
  study.add({.curve = {4}, .second = 4});
  study.add({.curve = {2}, .second = 2});
  study.add({.curve = {3}, .second = 1});
  const Json pareto = study.model()["pareto"];
  EXPECT_EQ(pareto["front"], Json({0, 2, 3}));
  EXPECT_EQ(pareto["reference"], Json({4.0, 4.0}));
  EXPECT_EQ(pareto["volume"]["trial"], Json({0, 1, 2, 3}));
  EXPECT_EQ(pareto["volume"]["volume"], Json({3.0, 3.0, 5.0, 6.0}));
}

TEST(ReportPareto, CountsTheVolumeBelowTheReferences) {
  WrittenStudy study({minimize("value"), minimize("cost")});
  study.add({.curve = {1}, .second = 3});
  study.add({.curve = {4}, .second = 4});
  study.add({.curve = {2}, .second = 2});
  study.add({.curve = {3}, .second = 1});
  ReportSource source = study.source();
  source.config.objectives = source.study.objectives;
  source.config.objectives[1].reference = 2.5;
  const Json pareto = model_of(source)["pareto"];
  EXPECT_EQ(pareto["front"], Json({0, 2, 3}));
  EXPECT_EQ(pareto["reference"], Json({4.0, 2.5}));
  EXPECT_EQ(pareto["volume"]["volume"], Json({0.0, 0.0, 1.0, 2.0}));
}

TEST(ReportPareto, TurnsAMaximisedObjective) {
  WrittenStudy study({maximize("value"), minimize("cost")});
  study.add({.curve = {3}, .second = 1});
  study.add({.curve = {1}, .second = 2});
  const Json pareto = study.model()["pareto"];
  EXPECT_EQ(pareto["front"], Json({0}));
  EXPECT_EQ(pareto["reference"], Json({1.0, 2.0}));
  EXPECT_EQ(pareto["volume"]["volume"].back(), 2.0);
}

// It would take hours.
TEST(ReportPareto, LeavesOutAVolumeThatCannotBeComputedInTime) {
  ReportSource source;
  source.study.objectives = {minimize("a"), minimize("b"), minimize("c"),
                             minimize("d"), minimize("e"), minimize("f")};
  Trials trials(500);
  for (std::size_t i = 0; i < trials.size(); ++i) {
    const auto x = static_cast<double>(i);
    trials[i].trial = i;
    trials[i].is_scored = true;
    trials[i].values = {x, -x, std::sin(x), std::cos(x), std::sin(7 * x), std::cos(7 * x)};
  }
  const Json pareto = pareto_front(source, trials);
  EXPECT_EQ(pareto["front"].size(), 500U);
  EXPECT_TRUE(pareto["volume"]["trial"].empty());
}

TEST(ReportWorkers, UtilizationIsTheTrainingShareOfTheDeviceTime) {
  WrittenStudy study;
  study.add({.curve = {3, 2}, .from_s = 1, .until_s = 6, .epoch_s = 2.5});
  study.add({.curve = {1}, .from_s = 2, .until_s = 5, .epoch_s = 3, .worker = "local/1"});
  study.append({event::Accounted{.wall_s = 6, .device_s = 10}});
  const Json workers = study.model()["workers"];
  EXPECT_EQ(workers["utilization"], 0.8);
  EXPECT_EQ(workers["bars"]["worker"], Json({"local/0", "local/1"}));
  EXPECT_EQ(workers["bars"]["from_s"], Json({1.0, 2.0}));
  EXPECT_EQ(workers["bars"]["length_s"], Json({5.0, 3.0}));
  EXPECT_EQ(workers["busy"][1]["busy_s"], 3.0);
  EXPECT_EQ(workers["busy"][1]["share"], 0.5);  // of the six seconds
}

TEST(ReportWorkers, AnAttemptThatEndedWithoutATimeLastsAsLongAsItTrained) {
  WrittenStudy study;
  study.add({.curve = {3}, .from_s = 1, .epoch_s = 4, .state = TrialState::kRunning});
  event::Requeued requeued;
  requeued.trial = 0;
  requeued.unreported_s = 0.5;
  event::Started again;
  again.trial = 0;
  again.attempt = 2;
  again.worker = "local/1";
  again.at_s = kBegin + 20;
  study.append({requeued, again});
  const Json bars = study.model()["workers"]["bars"];
  EXPECT_EQ(bars["length_s"], Json({4.5, 0.0}));
  EXPECT_EQ(bars["state"], Json({"WAITING", "RUNNING"}));
}

TEST(ReportBudget, FallsWhenTrialsEndAndEndsWithWhatIsLeft) {
  WrittenStudy study({minimize("value")}, "10trials");
  study.add({.curve = {3}, .until_s = 4});
  study.add({.curve = {2}, .until_s = 9});
  const Json limit = study.model()["budget"]["limits"][0];
  EXPECT_EQ(limit["limit"], 10.0);
  EXPECT_EQ(limit["used"], 2.0);
  EXPECT_EQ(limit["wall_s"], Json({0, 4.0, 9.0, 9.0}));
  EXPECT_EQ(limit["left"], Json({10.0, 9.0, 8.0, 8.0}));
}

TEST(ReportCredit, CountsProposalsAndImprovementsInTheOrderOfTheEnds) {
  WrittenStudy study;
  study.add({.curve = {3}, .until_s = 1, .epoch_s = 2, .proposer = "gp"});
  study.add({.curve = {1}, .until_s = 9, .proposer = "gp"});
  study.add({.curve = {2}, .until_s = 5, .proposer = "evolution"});
  study.add({.curve = {2.5}, .until_s = 6, .proposer = "evolution"});
  const Json rows = study.model()["credit"]["rows"];
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0]["algorithm"], "gp");
  EXPECT_EQ(rows[0]["proposals"], 2);
  EXPECT_EQ(rows[0]["improvements"], 2);
  EXPECT_EQ(rows[0]["best"], 1.0);
  EXPECT_EQ(rows[0]["mean"], 2.0);
  EXPECT_EQ(rows[0]["device_s"], 3.0);
  EXPECT_EQ(rows[1]["improvements"], 1);
}

TEST(ReportCredit, HasTheMeanOfTheTrialsThatHaveAValue) {
  WrittenStudy study;
  study.add({.curve = {3}, .until_s = 1});
  study.add({.until_s = 2, .state = TrialState::kFail});
  study.add({.curve = {1}, .until_s = 3});
  const Json row = study.model()["credit"]["rows"][0];
  EXPECT_EQ(row["proposals"], 3);
  EXPECT_EQ(row["scored"], 2);
  EXPECT_EQ(row["mean"], 2.0);
}

TEST(ReportCurves, ShowTheEpochsAtWhichThePrunerEndedTrials) {
  WrittenStudy study;
  const EndReason pruner(EndCause::kPruner, "none");  // what a study of a function has
  study.add({.curve = {3}, .state = TrialState::kPruned, .reason = pruner});
  study.add({.curve = {4}, .state = TrialState::kPruned, .reason = pruner});
  study.add({.curve = {2, 1, 0.5}, .state = TrialState::kPruned, .reason = EndCause::kBudget});
  const Json curves = study.model()["curves"];
  EXPECT_EQ(curves["rungs"], Json::parse(R"([{"epoch": 1.0, "trials": 2}])"));
  EXPECT_EQ(curves["of"], 3);
  EXPECT_EQ(curves["curves"][2]["epochs"], Json({1.0, 2.0, 3.0}));
  EXPECT_EQ(curves["curves"][2]["values"], Json({2.0, 1.0, 0.5}));
}

TEST(ReportCurves, OfManyTrialsAreAFewWithTheBestAmongThem) {
  WrittenStudy study;
  for (int i = 0; i < 700; ++i) study.add({.curve = {9, i == 333 ? 0.0 : 5.0 + i}});
  const Json curves = study.model()["curves"];
  EXPECT_EQ(curves["of"], 700);
  EXPECT_LE(curves["curves"].size(), 210U);
  EXPECT_TRUE(std::ranges::any_of(curves["curves"],
                                  [](const Json& curve) { return curve["trial"] == 333; }));
}

TEST(ReportCard, CountsWhatTrialsOfEachStateCost) {
  WrittenStudy study;
  study.add({.curve = {3}, .epoch_s = 2});
  study.add({.curve = {4, 3.5}, .epoch_s = 3});
  study.add({.curve = {}, .state = TrialState::kFail, .reason = {EndCause::kFailure, "gone"}});
  const Json costs = study.model()["found"]["costs"];
  EXPECT_EQ(costs[0]["state"], "COMPLETE");
  EXPECT_EQ(costs[0]["trials"], 2);
  EXPECT_EQ(costs[0]["epochs"], 3.0);
  EXPECT_EQ(costs[0]["device_s"], 8.0);
  EXPECT_EQ(costs[2]["state"], "FAIL");
  EXPECT_EQ(costs[2]["trials"], 1);
}

TEST(ReportCard, GivesTheSpreadOfACandidateThatWasMeasuredTwice) {
  WrittenStudy study;
  study.add({.curve = {3}});
  ReportSource source = study.source();
  EXPECT_TRUE(model_of(source)["found"]["spreads"].empty());
  Trials trials = shown_trials(source);
  trials.push_back(trials.front());
  trials.back().trial = 1;
  trials.back().values = {5};
  const Json spread = what_was_found(source, trials)["spreads"][0];
  EXPECT_EQ(spread["count"], 2);
  EXPECT_EQ(spread["mean"], 4.0);
  EXPECT_NEAR(spread["deviation"].get<double>(), std::sqrt(2.0), 1e-12);
}

TEST(ReportCard, ShowsTestMetricsWithTheirInterval) {
  WrittenStudy study;
  study.add({.curve = {3}});
  ReportSource source = study.source();
  event::Model tested;
  tested.model = 1;
  tested.kind = ModelKind::kTestedTrial;
  tested.state = ModelState::kComplete;
  tested.metrics = {{"val_accuracy", 0.9}, {"test_accuracy", 0.8}};
  tested.intervals = {{"test_accuracy", 0.7, 0.85}};
  source.models = {tested};
  const Json tests = model_of(source)["found"]["tests"];
  ASSERT_EQ(tests.size(), 1U);
  EXPECT_EQ(tests[0]["metric"], "test_accuracy");
  EXPECT_EQ(tests[0]["interval"], Json({0.7, 0.85}));
}

TEST(ReportOfAnEmptyStudy, SaysWhyEachPanelIsEmpty) {
  const Json model = WrittenStudy().model();
  for (const char* panel :
       {"history", "importance", "curves", "workers", "budget", "credit", "found"})
    EXPECT_TRUE(model[panel].contains("why") && !model[panel]["why"].get<std::string>().empty())
        << panel;
  EXPECT_EQ(model["trials"]["trial"], Json::array());
}

TEST(ReportThinning, KeepsWhatItMustAndEveryKthOfTheOthers) {
  EXPECT_EQ(thinned(4, 10), (std::vector<std::size_t>{0, 1, 2, 3}));
  EXPECT_EQ(thinned(10, 5), (std::vector<std::size_t>{0, 2, 4, 6, 8}));
  EXPECT_EQ(thinned(10, 3, {7}), (std::vector<std::size_t>{0, 5, 7}));
  EXPECT_LE(thinned(100000, 3000).size(), 3000U);
  EXPECT_TRUE(thinned(0, 3).empty());
}

TEST(ReportDifference, StandsSideBySideWithoutWhatIsEqual) {
  using Lines = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(differing_lines({"in", "conv 3", "relu", "out"}, {"in", "conv 5", "relu", "out"}),
            (Lines{{"conv 3", "conv 5"}}));
  EXPECT_EQ(differing_lines({"in", "out"}, {"in", "a", "b", "out"}), (Lines{{"", "a"}, {"", "b"}}));
  EXPECT_EQ(differing_lines({"x"}, {}), (Lines{{"x", ""}}));
  EXPECT_TRUE(differing_lines({"x", "y"}, {"x", "y"}).empty());
}

}  // namespace
}  // namespace detol::testing_support
