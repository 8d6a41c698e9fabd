#include "knowledge/ledger.h"

#include <cmath>
#include <fstream>

#include "knowledge/check.h"
#include "tests/knowledge/support.h"

namespace detol {
namespace {

using testing_support::asked;
using testing_support::complete;
using testing_support::describe;
using testing_support::failed;
using testing_support::must;
using testing_support::OneStudy;
using testing_support::reported;
using testing_support::started;
using testing_support::study_named;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<Event> one_of_each() {
  event::Asked late = asked(1);
  late.behind = 3;
  late.inherits = {.trial = 0, .epochs = 1.5};
  return {
      event::StudyState{StudyPhase::kRunning, "2cpu-h", 1.0, "cpu"},
      asked(0),
      late,
      started(0, 1),
      reported(0, 1, 1, 0.5),
      event::Requeued{0, 1, requeue_reason_from("worker lost")},
      started(0, 2, "w2"),
      reported(0, 2, 2, 0.75),
      complete(0, 0.75, 2),
      event::Told{
          1, TrialState::kPruned, {EndCause::kPruner, "asha"}, Measured{{0.25}, 1, 5e8, true}, 30},
      event::Refit{"gp", 1, 2, {0.5, -3}, 30.5},
      event::Refit{"gp", 2, 2, {}, 31},
      event::AlgorithmChosen{
          "conv 64x16x32x32", "direct", {{"winograd", 0.5}, {"direct", 0.25}}, 31.5},
      event::AlgorithmChosen{"dense", "ab", {}, 32},
      event::Source{"earlier",
                    "version: 1\n",
                    {{{{"lr", 0.1}, {"op", std::string("conv")}}, {0.5}, 9, 1e9},
                     {{{"lr", kInfinity}}, {kNaN}, 1, 2}},
                    true},
      failed(2, Cause::kTooLarge),
      event::Model{.model = 1,
                   .trial = 0,
                   .kind = ModelKind::kTestedTrial,
                   .state = ModelState::kComplete,
                   .failure = "",
                   .reason = "none",
                   .seed = -5,
                   .epochs = 2,
                   .trained_on = "train",
                   .began_from = "scratch",
                   .first = 1,
                   .network_params = 10,
                   .flops = 20,
                   .metrics = {{"val_accuracy", 0.75}, {"test_accuracy", kNaN}},
                   .intervals = {{"test_accuracy", 0.5, kInfinity}},
                   .dataset = "00ab",
                   .folder = "0",
                   .at_s = 40}};
}

TEST(Ledger, GivesBackEveryKindOfEventInOrder) {
  OneStudy one;
  one.append(one_of_each());
  EXPECT_EQ(describe(one.events()), describe(one_of_each()));
}

TEST(Ledger, GivesBackTheSameAfterAReopen) {
  OneStudy one;
  one.append(one_of_each());
  one.reopen();
  EXPECT_EQ(describe(one.events()), describe(one_of_each()));
}

TEST(Ledger, KeepsEveryNumberExactly) {
  OneStudy one;
  std::vector<std::pair<std::string, double>> metrics;
  for (double value : {kNaN, kInfinity, -kInfinity, -0.0, 0.1, 1.0 / 3, 5e-324,
                       1.7976931348623157e308, 123456789012345680.0, 3.0}) {
    metrics.emplace_back("m" + std::to_string(metrics.size()), value);
  }
  const Event event = event::Reported{0, 1, 1, metrics, kInfinity, kNaN};
  one.append(
      {event,
       event::Told{0, TrialState::kComplete, {}, Measured{{kNaN}, kInfinity, -0.0, true}, kNaN}});
  const auto events = one.events();
  EXPECT_EQ(describe(events[0]), describe(event));
  const auto outcome = std::get<Measured>(std::get<event::Told>(events[1]).outcome);
  EXPECT_TRUE(std::isnan(outcome.values.at(0)));
  EXPECT_TRUE(std::signbit(outcome.work));
}

TEST(Ledger, KeepsEveryNumberOfARefitExactly) {
  OneStudy one;
  constexpr std::uint64_t kLargest = std::numeric_limits<std::uint64_t>::max();
  const event::Refit refit{
      "gp", kLargest, kLargest, {0.1, 1.0 / 3, 3.0, 5e-324, kNaN, kInfinity, -kInfinity, -0.0}, 9};
  one.append({refit});
  const auto events = one.events();
  const auto& read = std::get<event::Refit>(events.at(0));
  EXPECT_EQ(describe(events.at(0)), describe(Event(refit)));
  EXPECT_EQ(read.parameters.at(1), 1.0 / 3);
  EXPECT_TRUE(std::signbit(read.parameters.back()));
}

TEST(Ledger, TheFirstRefitOfAVersionOfAModelStays) {
  OneStudy one;
  const event::Refit first{"gp", 1, 10, {0.5}, 1}, of_another{"tpe", 1, 10, {0.5}, 1};
  one.append({first, of_another, event::Refit{"gp", 1, 12, {0.7}, 2}});
  const std::vector<Event> kept = {first, of_another};
  EXPECT_EQ(describe(one.events()), describe(kept));
}

TEST(Ledger, TheFirstChoiceOfAShapeStays) {
  OneStudy one;
  const event::AlgorithmChosen first{"conv", "direct", {{"direct", 0.1}}, 1},
      of_another{"dense", "ab", {}, 1};
  one.append({first, of_another});
  one.append({event::AlgorithmChosen{"conv", "winograd", {{"direct", 0.3}}, 2}});
  const std::vector<Event> kept = {first, of_another};
  EXPECT_EQ(describe(one.events()), describe(kept));
}

TEST(Ledger, KeepsTheTypeOfEveryParameter) {
  OneStudy one;
  const std::int64_t largest = std::numeric_limits<std::int64_t>::max();
  event::Asked event = asked(7);
  event.params = {{"flag", true},
                  {"off", false},
                  {"whole", std::int64_t{3}},
                  {"largest", largest},
                  {"real", 3.0},
                  {"small", 1e-300},
                  {"nan", kNaN},
                  {"text", std::string("3")},
                  {"word", std::string("NaN")},
                  {"empty", std::string()},
                  {"quoted", std::string("a\"b\\c\nd\xc3\xa9")}};
  one.append({event});
  EXPECT_EQ(describe(one.events().at(0)), describe(Event(event)));
}

TEST(Ledger, AcceptsTextThatIsNotUtf8) {
  OneStudy one;
  one.append({event::Requeued{0, 1, requeue_reason_from("bad \xff byte")}});
  EXPECT_EQ(std::get<event::Requeued>(one.events().at(0)).reason.detail, "bad \xef\xbf\xbd byte");
}

TEST(Ledger, WritingAnythingTwiceChangesNothing) {
  OneStudy one;
  one.append(one_of_each());
  for (const Event& event : one_of_each()) one.append({event});
  one.append(one_of_each());
  EXPECT_EQ(describe(one.events()), describe(one_of_each()));
}

TEST(Ledger, TheFirstReportOfAnEpochStays) {
  OneStudy one;
  one.append({asked(0), started(0, 1), reported(0, 1, 1, 0.5), reported(0, 1, 1, 0.9)});
  EXPECT_EQ(one.events().size(), 3U);
  EXPECT_EQ(std::get<event::Reported>(one.events()[2]).metrics[0].second, 0.5);
}

TEST(Ledger, DropsWhatAnOlderAttemptStillSends) {
  OneStudy one;
  one.append({asked(0), started(0, 1), started(0, 2)});
  const auto before = describe(one.events());
  one.append({reported(0, 1, 1, 0.5), event::Requeued{0, 1, requeue_reason_from("late")},
              started(0, 1, "w9")});
  EXPECT_EQ(describe(one.events()), before);
}

TEST(Ledger, KeepsALaterToldAndALaterState) {
  OneStudy one;
  const std::vector<Event> story = {
      event::Told{0, TrialState::kPruned, {EndCause::kBudget}, Measured{{0.5}, 1, 1e9, true}, 5},
      event::StudyState{StudyPhase::kStopped, "1cpu-h", 6},
      event::StudyState{StudyPhase::kRunning, "1cpu-h", 6},
      event::StudyState{StudyPhase::kStopped, "1cpu-h", 6}, complete(0, 0.9)};
  one.append(story);
  EXPECT_EQ(describe(one.events()), describe(story));
}

TEST(Ledger, TheLastAccountStands) {
  OneStudy one;
  one.append({event::Accounted{1, 2}, asked(0)});
  one.append({event::Accounted{3, 5}, asked(1)});
  one.reopen();
  ASSERT_EQ(one.events().size(), 3U);
  EXPECT_EQ(describe(one.events().back()), "accounted 3 5");
}

TEST(Ledger, TheStudyFollowsItsEvents) {
  OneStudy one;
  one.append({event::StudyState{StudyPhase::kDone, "5cpu-h", 9}});
  const StudyRecord record = must(one.ledger->study("s"));
  EXPECT_EQ(record.state, StudyPhase::kDone);
  EXPECT_EQ(record.budget, "5cpu-h");
  EXPECT_EQ(record.config, study_named("s").config);
  EXPECT_EQ(record.data_fingerprint, 0xfedcba9876543210);
  EXPECT_EQ(record.created_s, 1700000000.25);
  ASSERT_EQ(record.objectives.size(), 1U);
  EXPECT_EQ(record.objectives[0].metric, "val_accuracy");
  EXPECT_EQ(record.objectives[0].direction, Direction::kMaximize);
}

TEST(Ledger, AChangedConfigIsInForceAndTheFirstOneKept) {
  OneStudy one;
  const std::string first = study_named("s").config;
  event::StudyState wider{StudyPhase::kRunning, "1cpu-h", 1};
  wider.config = "wider";
  one.append({wider});
  const auto check_record = [&] {
    const StudyRecord record = must(one.ledger->study("s"));
    EXPECT_EQ(record.config, "wider");
    EXPECT_EQ(record.first_config(), first);
  };
  check_record();
  one.append({event::StudyState{StudyPhase::kStopped, "1cpu-h", 2}});
  one.reopen();
  check_record();
  EXPECT_EQ(std::get<event::StudyState>(one.events().front()).config, "wider");
  wider.config = "widest";
  one.append({wider});
  EXPECT_EQ(must(one.ledger->study("s")).config, "widest");
  EXPECT_EQ(must(one.ledger->study("s")).first_config(), first);
  EXPECT_EQ(must(check(one.path)), std::vector<std::string>{});
}

// SQLite keeps no sign of a zero, so that none may be part of what is verified.
TEST(Ledger, AZeroBelowZeroDamagesNothing) {
  OneStudy one;
  one.append({asked(0), started(0, 1), reported(0, 1, 1, -0.0), event::Accounted{-0.0, -0.0}});
  one.reopen();
  EXPECT_EQ(one.events().size(), 3U);
  EXPECT_EQ(must(check(one.path)), std::vector<std::string>{});
}

// What other searches learn from a study: its measurements, each once.
TEST(Ledger, OutcomesAreThoseOfTheTrialsThatWereMeasured) {
  OneStudy one;
  event::Told again = complete(1, 0.5);
  again.reason = {EndCause::kSameTrial, "", 0};
  one.append({asked(0), started(0, 1), reported(0, 1, 1, 0.5), complete(0, 0.5), asked(1), again,
              asked(2), failed(2, Cause::kCrashed), asked(3)});
  const auto outcomes = must(one.ledger->outcomes(one.study));
  ASSERT_EQ(outcomes.size(), 1U);
  EXPECT_EQ(outcomes[0].params, asked(0).params);
  EXPECT_EQ(outcomes[0].values, std::vector{0.5});
  EXPECT_EQ(outcomes[0].fidelity, 3);
  EXPECT_EQ(outcomes[0].work, 3e9);
  one.append(
      {event::Requeued{0, 1, {RequeueCause::kPromoted}}, started(0, 2), complete(0, 0.75, 9)});
  EXPECT_EQ(must(one.ledger->outcomes(one.study)).at(0).values, std::vector{0.75});
}

TEST(Ledger, StudiesDoNotMix) {
  OneStudy one;
  const StudyId other = must(one.ledger->create_study(study_named("other")));
  one.append({asked(0)});
  must(one.ledger->append(other, std::vector<Event>{asked(0), asked(1)}));
  EXPECT_EQ(one.events().size(), 1U);
  EXPECT_EQ(must(one.ledger->events(other)).size(), 2U);
}

TEST(Ledger, RefusesASecondStudyOfTheSameName) {
  OneStudy one;
  const auto again = one.ledger->create_study(study_named("s"));
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, ErrorCode::kStudy);
  EXPECT_NE(again.error().message.find("detol resume s"), std::string::npos);
}

TEST(Ledger, SuggestsTheNameThatWasMeant) {
  OneStudy one;
  must(one.ledger->create_study(study_named("fashion-cnn")));
  const auto missing = one.ledger->study("fashion-cn");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kStudy);
  EXPECT_NE(missing.error().message.find("did you mean 'fashion-cnn'?"), std::string::npos);
}

TEST(Ledger, RefusesEventsOfAStudyThatDoesNotExist) {
  OneStudy one;
  const auto lost = one.ledger->append(99, std::vector<Event>{asked(0)});
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, ErrorCode::kStudy);
}

}  // namespace
}  // namespace detol
