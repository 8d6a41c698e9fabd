#include "scheduler/simulation/simulation.h"

#include <fmt/format.h>

#include <gtest/gtest.h>

#include "core/file.h"
#include "knowledge/query.h"
#include "knowledge/reports.h"
#include "tests/support/temp_folder.h"

namespace detol {
namespace {

using testing_support::TempFolder;

SimulationSettings settings_of(const std::string& algorithm) {
  SimulationSettings settings;
  settings.config = load_study_config(
                        "version: 1\nstudy: simulated\nseed: 3\n"
                        "function: {name: levy, dimensions: 3}\n"
                        "search: {algorithm: " +
                            algorithm + "}\n",
                        "test.yaml")
                        .value();
  settings.budget = parse_budget("60trials").value();
  settings.workers = 4;
  settings.pace = {.trial_s = SecondsRange{30, 90}, .report_every_s = 10};
  settings.losses_per_device_h = 4;
  return settings;
}

// Returns every event and fact of a database as text.
std::string text_of(const std::filesystem::path& path) {
  const auto reader = Reader::open(path).value();
  std::string text;
  const auto studies = reader->studies().value();
  for (const StudyRecord& study : studies) {
    text += fmt::format("{} {} {}\n", study.name, study.budget, study.created_s);
    const auto events = reader->events(study.id).value();
    for (const Event& event : events) {
      if (const auto* accounted = std::get_if<event::Accounted>(&event)) {
        text += fmt::format("{} {}\n", accounted->wall_s, accounted->device_s);
        continue;
      }
      const EventRow row = single_row(event, study.objectives);
      text += fmt::format("{} {} {} {} {} {} {}\n", row.kind, row.trial, row.attempt, row.epoch,
                          row.step, row.copy, row.payload);
    }
  }
  const auto facts = reader->facts("").value();
  for (const Fact& fact : facts)
    text += fmt::format("{} {} {}\n", fact.kind, fact.key, fact.payload);
  return text;
}

TEST(Simulation, TheSameSettingsGiveTheSameLedgerByteForByte) {
  TempFolder folder;
  for (const char* algorithm : {"evolution", "gp"}) {
    std::vector<std::string> texts;
    for (const char* name : {"a.db", "b.db"}) {
      SimulationSettings settings = settings_of(algorithm);
      settings.ledger = folder.path() / (std::string(algorithm) + name);
      ASSERT_TRUE(simulate(settings));
      texts.push_back(text_of(settings.ledger));
    }
    EXPECT_NE(texts[0].find("ask_ms"), std::string::npos);
    EXPECT_EQ(texts[0], texts[1]) << algorithm;
  }
}

TEST(Simulation, AnotherTableOfAskTimesIsAnotherLedger) {
  SimulationSettings settings = settings_of("evolution");
  settings.losses_per_device_h = 0;
  const auto fast = simulate(settings).value();
  settings.ask_times = AskTimes::parse("60000").value();
  const auto slow = simulate(settings).value();
  EXPECT_GT(slow.wall_s, fast.wall_s);
  EXPECT_LT(slow.utilization(), fast.utilization());
  EXPECT_EQ(fast.fallbacks, 0);
  EXPECT_GT(slow.fallbacks, 0);
  EXPECT_EQ(slow.fresh + slow.fallbacks, slow.asked);
}

TEST(Simulation, LostWorkersAreReplacedAndNoTrialIsLost) {
  const auto report = simulate(settings_of("random")).value();
  EXPECT_GT(report.losses, 0);
  EXPECT_EQ(report.finished, 60);
  EXPECT_EQ(report.failed, 0);
}

TEST(Simulation, UsesNoMoreThanItsBudgetOfDeviceTime) {
  SimulationSettings settings = settings_of("random");
  settings.budget = parse_budget("1cpu-h").value();
  const auto report = simulate(settings).value();
  EXPECT_LE(report.device_s, 3600);
  EXPECT_GT(report.device_s, 3400);
  EXPECT_EQ(report.trained, report.finished + report.pruned);
}

TEST(Simulation, NeedsABudget) {
  SimulationSettings settings = settings_of("random");
  settings.budget = {};
  EXPECT_EQ(simulate(settings).error().code, ErrorCode::kInput);
}

// A study that trains networks with batches of 2 to 64.
SimulationSettings networks(const std::string& constraints = "") {
  SimulationSettings settings;
  settings.config = load_study_config(
                        "version: 1\nstudy: simulated\ndata: {format: idx, path: /d}\n"
                        "architecture: {type: chain, stages: [{block: {op: conv}}]" +
                            constraints +
                            "}\n"
                            "parameters: {lr: {type: float, low: 0.01, high: 0.1}, batch_size: "
                            "{type: categorical, choices: [2, 64]}}\n"
                            "training: {epochs: 2}\n"
                            "objectives: [{metric: val_loss, direction: minimize}]\n"
                            "search: {algorithm: random}\n",
                        "test.yaml")
                        .value();
  settings.data = {.task = {.input = {1, 8, 8}, .classes = 2}, .training = 1000, .validation = 100};
  settings.budget = parse_budget("4trials").value();
  return settings;
}

// As a run does: refused before training, so that they count against no budget in trials.
TEST(Simulation, TrainsNoBatchThatAGroupCannotShare) {
  TempFolder folder;
  SimulationSettings settings = networks();
  settings.group_size = 4;
  settings.budget = parse_budget("16trials").value();
  settings.ledger = folder.path() / "kept.db";
  const auto report = simulate(settings).value();
  EXPECT_FALSE(report.has_failed);
  EXPECT_EQ(report.trained, 16);
  EXPECT_EQ(report.finished, 16);
  EXPECT_GT(report.failed, 0);
  const auto reader = Reader::open(settings.ledger).value();
  const auto events = reader->events(reader->study("simulated").value().id).value();
  for (const Event& event : events) {
    const auto* told = std::get_if<event::Told>(&event);
    if (told == nullptr || told->state != TrialState::kFail) continue;
    EXPECT_EQ(cause_of(told->outcome), Cause::kInvalid);
    EXPECT_EQ(told->reason.detail, "a batch of 2 cannot be shared by the 4 ranks of a group");
  }
}

TEST(Simulation, OfASpaceThatNoGroupCanTrainSaysSo) {
  SimulationSettings settings = networks();
  settings.group_size = 256;
  const auto report = simulate(settings).value();
  EXPECT_TRUE(report.has_failed);
  EXPECT_EQ(report.trained, 0);
  EXPECT_EQ(report.failed, report.asked);
  EXPECT_NE(report.ended.find("cannot be shared by the 256 ranks"), std::string::npos)
      << report.ended;
}

TEST(Simulation, RefusesWhatTheStudysMemoryForbids) {
  const auto report = simulate(networks(", constraints: {max_memory: 1000}")).value();
  EXPECT_TRUE(report.has_failed);
  EXPECT_EQ(report.trained, 0);
}

// The rank with the largest part of a batch decides.
TEST(Pace, OfAGroupIsLimitedByTheBatch) {
  const Space space = SpaceBuilder().add_float("x", 0, 1).build().value();
  const Pace pace(space, 1, {.work_per_s = 10, .group_speed = 60, .ranks = 64});
  EXPECT_EQ(pace.group_speed(0), 60);
  EXPECT_EQ(pace.group_speed(128), 60);
  EXPECT_EQ(pace.group_speed(100), 50);
  EXPECT_EQ(pace.group_speed(65), 32.5);
  const std::vector<std::pair<std::string, Value>> at = {{"x", 0.5}};
  const Genome genome = space.genome(at).value();
  EXPECT_EQ(pace.epoch_s(genome, 1, 1000, 100), 2);
}

TEST(Simulation, ReplaysTheCurvesOfAnEarlierStudy) {
  TempFolder folder;
  SimulationSettings settings = settings_of("random");
  settings.losses_per_device_h = 0;
  settings.pace.report_every_s = 0;
  settings.ledger = folder.path() / "real.db";
  const auto recorded = simulate(settings).value();
  const auto reader = Reader::open(settings.ledger).value();
  const auto events = reader->events(reader->study("simulated").value().id).value();
  SimulationSettings replay = settings;
  replay.ledger.clear();
  replay.pace = {};
  replay.curves = curves_of(events, [](int ranks) { return double{1} * ranks; });
  ASSERT_EQ(replay.curves->trials.size(), 60u);
  const auto replayed = simulate(replay).value();
  EXPECT_EQ(replayed.finished, recorded.finished);
  EXPECT_NEAR(replayed.wall_s, recorded.wall_s, 0.02 * recorded.wall_s);
  EXPECT_EQ(replayed.improvements.back().value, recorded.improvements.back().value);
}

// Of two recorded trials only one went on; both were as good, so the other goes on likewise.
TEST(RecordedCurves, AShortCurveGoesOnAsTheMostSimilarOneAndNeverBeyondWhatWasRecorded) {
  SimulationSettings settings = settings_of("random");
  settings.losses_per_device_h = 0;
  settings.pace = {.trial_s = SecondsRange{30, 30}, .report_every_s = 10};
  const auto recorded = [](double x, std::vector<double> values) {
    RecordedTrial trial{.params = {{"x0", x}, {"x1", x}, {"x2", x}}};
    for (const double value : values)
      trial.reports.push_back(
          {static_cast<double>(trial.reports.size()) + 1, 1, 0, {{"value", value}}});
    return trial;
  };
  settings.curves = RecordedCurves{};
  settings.curves->trials = {recorded(-9, {5}), recorded(0, {5, 4, 3}), recorded(9, {1, 0.9, 0.8})};
  const auto report = simulate(settings).value();
  EXPECT_EQ(report.finished, 60);
  EXPECT_EQ(report.improvements.back().value, 0.8);
  settings.curves->trials = {recorded(0, {5}), recorded(9, {5, 4, 3})};
  EXPECT_EQ(simulate(settings).value().improvements.back().value, 3);
}

TEST(RecordedCurves, AFileOfThemIsReadAsItWasWritten) {
  TempFolder folder;
  RecordedCurves curves;
  curves.trials.push_back(
      {.params =
           {{"lr", 0.1}, {"op", std::string("conv")}, {"depth", std::int64_t{3}}, {"se", true}},
       .reports = {{0.5, 1.25, 3e9, {{"loss", 0.9}}}, {1, 1.5, 6e9, {{"loss", 0.8}}}},
       .failure = Cause::kDiverged});
  const std::string text = to_json_lines(curves);
  ASSERT_TRUE(write_file_durably(folder.path() / "curves.jsonl", text + "\n"));
  const auto read = read_curves(folder.path() / "curves.jsonl").value();
  EXPECT_EQ(to_json_lines(read), text);
  ASSERT_TRUE(write_file_durably(folder.path() / "bad.jsonl", text + "{\"params\": 3}\n"));
  const auto bad = read_curves(folder.path() / "bad.jsonl");
  ASSERT_FALSE(bad);
  EXPECT_NE(bad.error().message.find("bad.jsonl:2:"), std::string::npos) << bad.error().message;
}

TEST(AskTimes, AreLinearBetweenPointsAndLevelBeyond) {
  const AskTimes times = AskTimes::parse("10=1,20=3").value();
  EXPECT_DOUBLE_EQ(times.seconds(0), 1e-3);
  EXPECT_DOUBLE_EQ(times.seconds(15), 2e-3);
  EXPECT_DOUBLE_EQ(times.seconds(1e6), 3e-3);
  EXPECT_EQ(times.text(), "10=1,20=3");
  for (const char* bad : {"", "x", "1=", "3=1,2=1", "1=-1"})
    EXPECT_FALSE(AskTimes::parse(bad)) << bad;
}

}  // namespace
}  // namespace detol
