// A trial's value is that of its best report, however its reports are stored.

#include <cmath>

#include "encodings/study/study_config.h"
#include "knowledge/exchange/trial_history.h"
#include "knowledge/reports.h"
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

event::Reported counted(int attempt, int epoch, double accuracy, bool is_best) {
  event::Reported report = reported(0, attempt, epoch, accuracy);
  report.step = epoch * 100;
  report.is_best = is_best;
  return report;
}

std::string value_of(const OneStudy& one) {
  const auto rows = must(must(Reader::open(one.path))
                             ->select("SELECT value, values_json, epochs, best_epoch, feasible "
                                      "FROM v_trials"));
  return describe(rows.rows.at(0));
}

const std::vector<Event> kUpAndDown = {asked(0), started(0, 1), counted(1, 1, 0.1, true),
                                       counted(1, 2, 0.75, true), counted(1, 3, 0.5, false)};

TEST(BestReports, GiveATrialItsValue) {
  OneStudy one;
  one.append(kUpAndDown);
  EXPECT_EQ(value_of(one), R"(0.75|{"val_accuracy":0.75,"val_loss":0.25}|3|2|1)");
}

TEST(BestReports, OfATrialThatEndedAreTheSameAndSoAreItsEvents) {
  OneStudy one;
  std::vector<Event> events = kUpAndDown;
  events.emplace_back(complete(0, 0.75));
  one.append(events);
  EXPECT_EQ(value_of(one), R"(0.75|{"val_accuracy":0.75,"val_loss":0.25}|3|2|1)");
  EXPECT_EQ(describe(one.events()), describe(events));
  one.reopen();
  EXPECT_EQ(describe(one.events()), describe(events));
}

TEST(BestReports, OfAPromotedTrialMayBeOfAnEarlierAttempt) {
  OneStudy one;
  one.append(kUpAndDown);
  event::Told pruned = complete(0, 0.75);
  pruned.state = TrialState::kPruned;
  pruned.reason = {EndCause::kPruner, "asha"};
  one.append({pruned, event::Requeued{0, 1, {RequeueCause::kPromoted}}, started(0, 2),
              counted(2, 4, 0.7, false)});
  EXPECT_EQ(value_of(one), R"(0.75|{"val_accuracy":0.75,"val_loss":0.25}|4|2|1)");
  one.append({complete(0, 0.75)});
  EXPECT_EQ(value_of(one), R"(0.75|{"val_accuracy":0.75,"val_loss":0.25}|4|2|1)");
}

TEST(BestReports, MayBeEarlyOnes) {
  OneStudy one;
  event::Reported early = counted(1, 0, 0.5, true);
  early.step = 50;
  early.part = 0.5;
  one.append({asked(0), started(0, 1), early, counted(1, 1, 0.25, false), complete(0, 0.5)});
  EXPECT_EQ(value_of(one), R"(0.5|{"val_accuracy":0.5,"val_loss":0.5}|1|0.5|1)");
}

TEST(BestReports, SayWhetherTheTrialKeepsToTheConstraints) {
  OneStudy one;
  event::Reported broken = counted(1, 2, 0.9, false);
  broken.metrics.emplace_back(kViolationMetric, 0.5);
  event::Reported kept = counted(1, 1, 0.5, true);
  kept.metrics.emplace_back(kViolationMetric, 0);
  one.append({asked(0), started(0, 1), kept, broken});
  EXPECT_TRUE(value_of(one).ends_with("|2|1|1")) << value_of(one);
}

TEST(BestReports, ARowWhoseMarksNobodyWroteIsRefused) {
  const NumberedReport one{1, counted(1, 1, 0.5, false)};
  EventRow row = row_of({&one, 1});
  EXPECT_FALSE(must(reports_of(row, 1)).front().report.is_best);
  const std::string mark = R"("best":"0")";
  for (const char* wrong : {R"("best":"2")", R"("best":"00")", R"("best":0)"}) {
    EventRow changed = row;
    changed.payload.replace(changed.payload.find(mark), mark.size(), wrong);
    EXPECT_FALSE(reports_of(changed, 1)) << wrong;
  }
}

TEST(BestReports, AreTheFinalValuesOfAHistory) {
  std::vector<Event> events = kUpAndDown;
  events.emplace_back(complete(0, 0.75));
  const std::vector<Objective> objectives = {maximize("val_accuracy")};
  const TrialHistory history = histories_of(events, objectives).at(0);
  EXPECT_EQ(final_epoch(history).epoch, 2);
  EXPECT_EQ(history.curve.size(), 3U);
  OneStudy one;
  one.append(events_of(asked(0), history, objectives));
  EXPECT_EQ(value_of(one), R"(0.75|{"val_accuracy":0.75,"val_loss":0.25}|3|2|1)");
}

}  // namespace
}  // namespace detol
