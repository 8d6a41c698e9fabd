// Reports of a trial that ended take few rows, and every reader sees the same events as before.

#include "knowledge/reports.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "knowledge/storage/sqlite.h"
#include "tests/knowledge/support.h"

namespace detol {
namespace {

using testing_support::asked;
using testing_support::complete;
using testing_support::describe;
using testing_support::must;
using testing_support::OneStudy;
using testing_support::reported;
using testing_support::started;

// Returns a report of 100 steps an epoch.
event::Reported counted(TrialId trial, int attempt, int epoch, double accuracy) {
  event::Reported report = reported(trial, attempt, epoch, accuracy);
  report.step = epoch * 100;
  return report;
}

std::int64_t rows_of_reports(const std::filesystem::path& path) {
  const auto rows =
      must(must(Reader::open(path))->select("SELECT count(*) FROM events WHERE kind = 'reported'"));
  return std::get<std::int64_t>(rows.rows.at(0).at(0));
}

std::vector<std::string> metrics(const std::filesystem::path& path) {
  std::vector<std::string> lines;
  const auto rows = must(must(Reader::open(path))
                             ->select("SELECT trial, epoch, step, name, value FROM v_metrics "
                                      "WHERE name = 'val_accuracy' ORDER BY trial, step"));
  for (const auto& row : rows.rows) lines.push_back(describe(row));
  return lines;
}

TEST(Reports, OfATrialThatEndedAreOneRowAndTheSameEvents) {
  OneStudy one;
  const std::vector<Event> events = {
      asked(0),        started(0, 1),         counted(0, 1, 1, 0.1), asked(1),
      started(1, 1),   counted(0, 1, 2, 0.2), counted(1, 1, 1, 0.5), counted(0, 1, 3, 0.1 + 0.2),
      complete(0, 0.3)};
  one.append(events);
  EXPECT_EQ(rows_of_reports(one.path), 2);
  EXPECT_EQ(describe(one.events()), describe(events));
  one.reopen();
  EXPECT_EQ(describe(one.events()), describe(events));
}

TEST(Reports, AreTheTextThatAJsonLibraryWrites) {
  using Json = nlohmann::ordered_json;
  using Limits = std::numeric_limits<double>;
  std::vector<NumberedReport> reports;
  for (const double value :
       {0.0, -0.0, 1.0, 0.1 + 0.2, 1e-5, -1e300, Limits::denorm_min(), Limits::max(),
        Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN()}) {
    event::Reported report{.trial = 1, .attempt = 1, .work = value, .train_s = value};
    report.epoch = static_cast<int>(reports.size()) + 1;
    report.step = report.epoch;
    report.metrics = {
        {"plain", value}, {"a \"quoted\" \\ \n one", value}, {"not UTF-8 \xff", value}};
    reports.push_back({report.step * 3, report});
  }
  reports.push_back(reports.front());
  reports.back().report.part = 0.25;
  const std::span all(reports);
  for (const auto& some : {all.first(1), all.first(2), all.first(11), all.last(1)}) {
    const std::string text = row_of(some).payload;
    EXPECT_EQ(Json::parse(text).dump(), text);
  }
}

TEST(Reports, OfARowAreReadByTheirOwnNumbers) {
  OneStudy one;
  one.append({asked(0), started(0, 1), counted(0, 1, 1, 0.1), asked(1), counted(0, 1, 2, 0.2),
              complete(0, 0.2)});
  const auto reader = must(Reader::open(one.path));
  // A reader that has seen the first report and the second trial.
  const NewEvents fresh = must(reader->events_after(one.study, 4));
  ASSERT_EQ(fresh.events.size(), 2U);
  EXPECT_EQ(describe(fresh.events[0]), describe(Event(counted(0, 1, 2, 0.2))));
}

TEST(Reports, ThatDoNotFitTogetherStayApart) {
  struct Case {
    const char* what;
    event::Reported second;
  };
  event::Reported other_steps = counted(0, 1, 2, 0.2), other_names = counted(0, 1, 2, 0.2);
  event::Reported part = counted(0, 1, 2, 0.2);
  part.part = 1.0 / 3;
  other_steps.step = 150;
  other_names.metrics.pop_back();
  for (const Case& each : {Case{"a gap", counted(0, 1, 3, 0.2)}, Case{"steps", other_steps},
                           Case{"names", other_names}, Case{"a part of an epoch", part}}) {
    OneStudy one;
    const std::vector<Event> events = {asked(0), started(0, 1), counted(0, 1, 1, 0.1), each.second,
                                       complete(0, 0.2)};
    one.append(events);
    EXPECT_EQ(rows_of_reports(one.path), 2) << each.what;
    EXPECT_EQ(describe(one.events()), describe(events)) << each.what;
  }
}

TEST(Reports, AreKeptOnceHoweverTheyAreStored) {
  OneStudy one;
  one.append({asked(0), started(0, 1), counted(0, 1, 1, 0.1), counted(0, 1, 2, 0.2),
              counted(0, 1, 3, 0.3), complete(0, 0.3)});
  const auto before = describe(one.events());
  one.append({counted(0, 1, 1, 0.9), counted(0, 1, 2, 0.9), counted(0, 1, 3, 0.9)});
  EXPECT_EQ(describe(one.events()), before);
}

TEST(Reports, OfALongTrialTakeRowsOfABoundedLength) {
  OneStudy one;
  std::vector<Event> events = {asked(0), started(0, 1)};
  for (int epoch = 1; epoch <= 200; ++epoch)
    events.emplace_back(counted(0, 1, epoch, 1.0 / (epoch + 3)));
  events.emplace_back(complete(0, 0.5));
  one.append(events);
  EXPECT_EQ(describe(one.events()), describe(events));
  EXPECT_LT(rows_of_reports(one.path), 40);
  const auto longest =
      must(must(Reader::open(one.path))->select("SELECT max(length(payload)) FROM events"));
  EXPECT_LT(std::get<std::int64_t>(longest.rows.at(0).at(0)), 1000);
  EXPECT_EQ(metrics(one.path).size(), 200U);
}

TEST(Reports, OfAPromotedTrialFollowThoseOfItsFirstEnd) {
  OneStudy one;
  const std::vector<Event> events = {
      asked(0),
      started(0, 1),
      counted(0, 1, 1, 0.1),
      counted(0, 1, 2, 0.2),
      event::Told{0, TrialState::kPruned, {EndCause::kPruner, "asha"}, Measured{{0.2}, 2, 1, true}},
      event::Requeued{0, 1, {RequeueCause::kPromoted}},
      started(0, 2),
      counted(0, 2, 3, 0.3),
      counted(0, 2, 4, 0.4),
      complete(0, 0.4)};
  one.append(events);
  EXPECT_EQ(describe(one.events()), describe(events));
  EXPECT_EQ(metrics(one.path),
            (std::vector<std::string>{"0|1|100|val_accuracy|0.1", "0|2|200|val_accuracy|0.2",
                                      "0|3|300|val_accuracy|0.3", "0|4|400|val_accuracy|0.4"}));
  const auto rows = must(
      must(Reader::open(one.path))->select("SELECT epochs, value, device_seconds FROM v_trials"));
  EXPECT_EQ(describe(rows.rows.at(0)), "4|0.4|10");
}

TEST(Reports, AnEpochThatALaterAttemptRepeatedCountsOnce) {
  OneStudy one;
  one.append({asked(0), started(0, 1), counted(0, 1, 1, 0.1), counted(0, 1, 2, 0.2),
              counted(0, 1, 3, 0.3), started(0, 2), counted(0, 2, 2, 0.7), counted(0, 2, 3, 0.8),
              complete(0, 0.8)});
  EXPECT_EQ(metrics(one.path),
            (std::vector<std::string>{"0|1|100|val_accuracy|0.1", "0|2|200|val_accuracy|0.7",
                                      "0|3|300|val_accuracy|0.8"}));
}

TEST(Reports, KeepNumbersThatJsonDoesNotHave) {
  OneStudy one;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const std::vector<Event> events = {asked(0), started(0, 1), counted(0, 1, 1, std::nan("")),
                                     counted(0, 1, 2, kInfinity), complete(0, 0.4)};
  one.append(events);
  EXPECT_EQ(describe(one.events()), describe(events));
  EXPECT_EQ(metrics(one.path),
            (std::vector<std::string>{"0|1|100|val_accuracy|", "0|2|200|val_accuracy|inf"}));
}

TEST(Reports, ARowThatNobodyWroteIsRefused) {
  const NumberedReport reports[] = {{5, counted(0, 1, 1, 0.1)}, {7, counted(0, 1, 2, 0.2)}};
  const EventRow sound = row_of(reports);
  ASSERT_EQ(must(reports_of(sound, 7)).at(0).seq, 5);
  struct Change {
    const char* what;
    void (*apply)(EventRow&);
  };
  for (const Change& change :
       {Change{"no reports", [](EventRow& row) { row.copy = 0; }},
        Change{"more reports than epochs", [](EventRow& row) { row.copy = 3; }},
        Change{"fewer reports than values", [](EventRow& row) { row.copy = 1; }},
        Change{"steps that epochs do not divide", [](EventRow& row) { row.step = 201; }},
        Change{"no map", [](EventRow& row) { row.payload = "[1]"; }},
        Change{"no JSON", [](EventRow& row) { row.payload = "{"; }},
        Change{"no gaps",
               [](EventRow& row) { row.payload.replace(row.payload.find("gaps"), 4, "gasp"); }},
        Change{"no work",
               [](EventRow& row) { row.payload.replace(row.payload.find("work"), 4, "wrok"); }}}) {
    EventRow row = sound;
    change.apply(row);
    EXPECT_FALSE(reports_of(row, 7)) << change.what;
  }
  EXPECT_FALSE(reports_of(sound, 2)) << "a number below 1";
}

}  // namespace
}  // namespace detol
