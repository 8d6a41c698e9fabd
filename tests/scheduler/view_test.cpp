// The frame at several sizes, as golden text: tests/golden/view_*.txt.

#include "scheduler/monitor/view.h"

#include <fmt/format.h>

#include <limits>

#include <gtest/gtest.h>

#include "core/clock.h"
#include "scheduler/monitor/live_spent.h"
#include "scheduler/monitor/study_monitor.h"
#include "tests/golden.h"

namespace detol {
namespace {

using testing_support::expect_golden;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

ViewTrial trial(TrialId id, const std::string& worker, std::vector<double> curve,
                double in_epoch_s) {
  return {.trial = id,
          .worker = worker,
          .epoch = static_cast<int>(curve.size()),
          .epochs = 9,
          .curve = std::move(curve),
          .in_epoch_s = in_epoch_s,
          .started_s = static_cast<double>(id)};
}

View busy_study() {
  return {.study = "fashion-cnn",
          .objectives = {maximize("val_accuracy")},
          .state = "",
          .notes = {},
          .meters = {{4.6, 10, "cpu-min"}, {41, 200, "trials"}},
          .elapsed_s = 151,
          .left_s = 165,
          .counts = {.trained = 41,
                     .running = 2,
                     .waiting = 1,
                     .complete = 12,
                     .pruned = 25,
                     .failed = 1,
                     .untrained = 3},
          .best = ViewBest{.trial = 14,
                           .value = 0.9012,
                           .ago_s = 62,
                           .params = {{"optimizer", "sgd"},
                                      {"lr", "0.0312"},
                                      {"batch_size", "64"},
                                      {"stages[0].block.op", "residual"}}},
          .running = {trial(39, "local/0", {0.61, 0.79, 0.86, 0.8892}, 6),
                      trial(40, "local/1", {0.7541}, 2)},
          .utilization = 0.943,
          .warnings = {{"trial 12: worker killed by signal 9", 2}}};
}

View large_study() {
  View view = busy_study();
  view.running.clear();
  for (TrialId id = 0; id < 32; ++id)
    view.running.push_back(trial(100 + id, fmt::format("local/{}", id),
                                 {0.5, 0.6 + 0.01 * static_cast<double>(id)}, 3));
  return view;
}

std::string text_of(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

TEST(View, FillsAnOrdinaryTerminal) {
  expect_golden("view_80x24", text_of(render(busy_study(), {80, 24, true, false})));
}

TEST(View, LeavesTheLeastImportantOutOfASmallTerminal) {
  expect_golden("view_40x12", text_of(render(busy_study(), {40, 12, true, false})));
}

TEST(View, UsesTheRoomOfALargeTerminal) {
  expect_golden("view_200x50", text_of(render(large_study(), {200, 50, true, false})));
}

TEST(View, ShowsTheLatestTrialsWhereNotAllFit) {
  expect_golden("view_32_workers", text_of(render(large_study(), {80, 24, true, false})));
}

TEST(View, IsPlainAsciiWhereTheLocaleIsNotUtf8) {
  const std::string text = text_of(render(busy_study(), {80, 24, false, false}));
  for (const char c : text) EXPECT_EQ(static_cast<unsigned char>(c) & 0x80, 0);
  expect_golden("view_ascii", text);
}

TEST(View, ColorsChangeNothingButTheColor) {
  const std::vector<std::string> plain = render(busy_study(), {80, 24, true, false});
  std::vector<std::string> colored = render(busy_study(), {80, 24, true, true});
  EXPECT_NE(colored, plain);
  for (std::string& line : colored) {
    for (auto at = line.find('\033'); at != std::string::npos; at = line.find('\033'))
      line.erase(at, line.find('m', at) + 1 - at);
  }
  EXPECT_EQ(colored, plain);
}

TEST(View, HasNoEscapeSequenceWithoutColor) {
  EXPECT_EQ(text_of(render(busy_study(), {80, 24, true, false})).find('\033'), std::string::npos);
}

TEST(View, SaysHowToResumeWhenItStops) {
  View view = busy_study();
  view.left_s.reset();
  view.notes = {"stopping", "resume with `detol resume fashion-cnn`", "Ctrl-C again ends at once"};
  const auto wide = render(view, {80, 24, true, false});
  EXPECT_EQ(wide[2], "stopping  resume with `detol resume fashion-cnn`  Ctrl-C again ends at once");
  const auto narrow = render(view, {52, 24, true, false});
  EXPECT_EQ(narrow[2], "stopping  resume with `detol resume fashion-cnn`");
}

TEST(View, ABeginningAndAnEndAreSaid) {
  View view{.study = "tiny",
            .objectives = {minimize("val_loss")},
            .state = "",
            .notes = {},
            .meters = {},
            .elapsed_s = 0,
            .left_s = {},
            .counts = {},
            .best = {},
            .running = {},
            .utilization = {},
            .warnings = {}};
  expect_golden("view_beginning", text_of(render(view, {60, 16, true, false})));
  view.state = "done";
  view.meters = {{6, 6, "trials"}};
  EXPECT_TRUE(render(view, {60, 16, true, false})[0].ends_with("elapsed  done"));
}

// No line wraps and no frame scrolls, for any content and any size of the screen.
TEST(View, NeverLeavesTheScreen) {
  View view = large_study();
  view.study = "探索 with a rather long name that somebody gave it";
  view.notes = {"stopping", "resume with `detol resume it`"};
  view.warnings = {{std::string(300, 'x'), 1}, {"größe\n\033[2J", 12345}, {"short", 1}};
  view.running[5].curve = {kNan, std::numeric_limits<double>::infinity(), -1e300};
  view.running[6].epochs = 1000;
  for (int columns = 1; columns <= 120; ++columns) {
    for (const int rows : {1, 2, 3, 5, 8, 12, 16, 24, 50}) {
      for (const bool utf8 : {true, false}) {
        const auto lines = render(view, {columns, rows, utf8, utf8});
        EXPECT_LE(static_cast<int>(lines.size()), std::max(1, rows - 1));
        for (const std::string& line : lines)
          EXPECT_LE(columns_of(line), std::max(0, columns - 1)) << columns << "x" << rows << line;
      }
    }
  }
}

TEST(View, CurvesShareOneScale) {
  View view = busy_study();
  view.running = {trial(0, "w", {0, 0.5, 1}, 0), trial(1, "w", {0.5, 0.5, kNan}, 0)};
  const std::string text = text_of(render(view, {80, 24, true, false}));
  EXPECT_NE(text.find("▁▅█······"), std::string::npos) << text;
  EXPECT_NE(text.find("▅▅?······"), std::string::npos) << text;
}

TEST(View, OfSeveralObjectivesHasThemAllAndTheirFront) {
  View view = busy_study();
  view.objectives = {maximize("val_accuracy"), minimize("latency")};
  view.best->others = {{"latency", 2.5}};
  view.front =
      ViewFront{.trials = 5, .extents = {{"val_accuracy", 0.81, 0.9012}, {"latency", 0.5, 2.5}}};
  const std::string text = text_of(render(view, {100, 30, true, false}));
  EXPECT_NE(text.find("maximize val_accuracy, minimize latency"), std::string::npos) << text;
  EXPECT_NE(text.find("0.9012  trial 14  1:02 min ago  latency 2.5000"), std::string::npos) << text;
  EXPECT_NE(text.find("front    5 trials  val_accuracy 0.8100 to 0.9012  latency 0.5000 to 2.5000"),
            std::string::npos)
      << text;
}

// Trial 1 is dominated, trial 3 failed.
TEST(StudyMonitors, FindTheFrontOfTheTrials) {
  const std::vector<Objective> objectives = {maximize("accuracy"), minimize("latency")};
  StudyState state(Space(), objectives);
  StudyMonitor monitor({.name = "s", .objectives = objectives}, system_clock());
  const std::vector<std::pair<double, double>> values = {{0.8, 1}, {0.7, 2}, {0.9, 5}, {0.99, 0.1}};
  const auto take = [&](const Event& event) {
    ASSERT_TRUE(state.apply(event));
    monitor.happened(event);
  };
  for (TrialId id = 0; id < values.size(); ++id) {
    event::Asked asked;
    asked.trial = id;
    take(asked);
    take(event::Started{.trial = id});
    event::Reported report{.trial = id, .epoch = 1};
    report.metrics = {{"accuracy", values[id].first}, {"latency", values[id].second}};
    take(report);
  }
  take(event::Told{.trial = 3,
                   .state = TrialState::kFail,
                   .reason = {EndCause::kFailure},
                   .outcome = Failed{Cause::kDiverged}});
  const View view = monitor.view(state, {});
  ASSERT_TRUE(view.front);
  EXPECT_EQ(view.front->trials, 2);
  ASSERT_EQ(view.front->extents.size(), 2U);
  EXPECT_EQ(view.front->extents[0].low, 0.8);
  EXPECT_EQ(view.front->extents[0].high, 0.9);
  EXPECT_EQ(view.front->extents[1].low, 1);
  EXPECT_EQ(view.front->extents[1].high, 5);
}

TEST(StudyMonitors, ShowNumbersNearOneByTheirDistanceFromIt) {
  const std::vector<std::pair<double, std::string>> cases = {
      {0.9999, "0.9999"},  {0.99996, "0.99996"},   {0.999999, "0.999999"}, {1, "1"},
      {0.95123, "0.9512"}, {0.0312345, "0.03123"}, {12345.6, "1.235e+04"}, {1e-5, "1e-05"},
      {1.00004, "1.00004"}};
  for (const auto& [number, text] : cases) {
    const Space space = SpaceBuilder().add_float("x", 1e-6, 1e6).build().value();
    StudyState state(space, {minimize("loss")});
    StudyMonitor monitor({.name = "s", .objectives = {minimize("loss")}}, system_clock());
    event::Asked asked;
    asked.params = {{"x", number}};
    event::Reported report{.epoch = 1};
    report.metrics = {{"loss", 1.0}};
    for (const Event& event : {Event(asked), Event(event::Started{}), Event(report)}) {
      ASSERT_TRUE(state.apply(event));
      monitor.happened(event);
    }
    const View view = monitor.view(state, {});
    ASSERT_TRUE(view.best);
    EXPECT_EQ(view.best->params.front().second, text);
  }
}

TEST(View, SaysBetweenWhichTimesTheEndIsLikely) {
  View view = busy_study();
  const auto header = [&] { return render(view, {80, 24, true, false}).front(); };
  view.left_now_s = 240;
  EXPECT_NE(header().find("ETA 2:45 min to 4:00 min"), std::string::npos) << header();
  view.left_now_s = 100;
  EXPECT_NE(header().find("ETA 1:40 min to 2:45 min"), std::string::npos) << header();
  view.left_now_s = 166;  // that is the same for a reader
  EXPECT_NE(header().find("ETA 2:45 min"), std::string::npos) << header();
  EXPECT_EQ(header().find(" to "), std::string::npos) << header();
}

class SetClock final : public Clock {
 public:
  double now_s() override { return now; }
  double wall_s() override { return now; }
  double now = 0;
};

// 100 trials: one a second, and in the last third one in two seconds.
TEST(StudyMonitors, EstimateTheEndByBothPaces) {
  SetClock clock;
  StudyState state(Space(), {minimize("loss")});
  StudyMonitor monitor({.name = "s", .objectives = {minimize("loss")}, .budget = {.trials = 100}},
                       clock);
  View view;
  TrialId id = 0;
  for (int second = 0; second <= 60; ++second) {
    clock.now = second;
    if (second <= 40 || second % 2 == 0) {
      event::Asked asked;
      asked.trial = id;
      for (const Event& event : {Event(asked), Event(event::Started{.trial = id}),
                                 Event(event::Told{.trial = id, .outcome = Measured{}})}) {
        ASSERT_TRUE(state.apply(event));
        monitor.happened(event);
      }
      ++id;
    }
    view = monitor.view(state, {});
  }
  ASSERT_TRUE(view.left_s);
  ASSERT_TRUE(view.left_now_s);
  EXPECT_NEAR(*view.left_s, 49.0 * 60 / 50, 2);
  EXPECT_NEAR(*view.left_now_s, 49 * 2, 6);
}

// The accounting is written every few seconds; reading it again, or another event, does not make it
// older or newer.
TEST(LiveSpent, GoesOnFromTheAccountingWhateverElseHappens) {
  LiveSpent live;
  live.account({.wall_s = 10, .device_s = 20}, 100);
  EXPECT_DOUBLE_EQ(live.at(103, 2).wall_s, 13);
  EXPECT_DOUBLE_EQ(live.at(103, 2).device_s, 26);
  live.account({.wall_s = 10, .device_s = 20, .trials = 1}, 104);  // a report, not an accounting
  EXPECT_DOUBLE_EQ(live.at(104, 2).wall_s, 14);
  live.account({.wall_s = 15, .device_s = 30}, 105);
  EXPECT_DOUBLE_EQ(live.at(105, 2).wall_s, 15);
  EXPECT_DOUBLE_EQ(live.at(106, 2).device_s, 32);
}

TEST(Durations, AreShort) {
  EXPECT_EQ(duration_text(-1), "0 s");
  EXPECT_EQ(duration_text(59.4), "59 s");
  EXPECT_EQ(duration_text(62), "1:02 min");
  EXPECT_EQ(duration_text(3600 + 62), "1:01 h");
  EXPECT_EQ(duration_text(86400 * 2 + 3600 * 5), "2 d 5 h");
}

TEST(Values, AreShort) {
  EXPECT_EQ(value_text(0.89971), "0.8997");
  EXPECT_EQ(value_text(0), "0.0000");
  EXPECT_EQ(value_text(1.234e-7), "1.23e-07");
  EXPECT_EQ(value_text(-52345.0), "-5.23e+04");
  EXPECT_EQ(value_text(kNan), "nan");
}

}  // namespace
}  // namespace detol
