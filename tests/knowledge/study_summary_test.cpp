// v_studies shows the best trial without a look at the events: it must be the one that they show.

#include <random>

#include <sqlite3.h>

#include "encodings/study/study_config.h"
#include "knowledge/check.h"
#include "knowledge/event_writer_impl.h"
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

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::string best_listed(Reader& reader) {
  return describe(must(reader.select("SELECT trials, best, best_trial FROM v_studies")).rows.at(0));
}

// The same from the events, as a user would write it.
std::string best_of_trials(Reader& reader) {
  return describe(must(reader.select(R"sql(
    SELECT (SELECT count(*) FROM v_trials), b.value, b.trial FROM (SELECT 1) LEFT JOIN (
      SELECT value, trial FROM v_trials
      WHERE epochs > 0 AND state <> 'FAIL' AND value IS NOT NULL
        AND feasible
      ORDER BY value DESC, state <> 'COMPLETE', trial LIMIT 1) b)sql"))
                      .rows.at(0));
}

event::Told failed_at(TrialId trial, double epochs) {
  event::Told told = failed(trial, Cause::kCrashed);
  told.outcome = Failed{Cause::kCrashed, epochs, epochs};
  return told;
}

// History: random events of four trials, as a search could have appended them.
class History {
 public:
  explicit History(unsigned seed) : random_(seed) {}

  std::vector<Event> next() {
    const auto id = static_cast<TrialId>(random_() % trials_.size());
    Trial& trial = trials_[id];
    switch (trial.state) {
      case State::kNew:
        trial.state = State::kWaiting;
        return {asked(id)};
      case State::kWaiting:
        trial.state = State::kRunning;
        return {started(id, ++trial.attempt)};
      case State::kRunning:
        return run(id, trial);
      case State::kOver:
        if (random_() % 3 != 0) return {event::StudyState{StudyPhase::kRunning, "1cpu-h", 1}};
        trial.state = State::kWaiting;
        return {event::Requeued{id, trial.attempt, {RequeueCause::kRetried}}};
    }
    return {};
  }

 private:
  enum class State { kNew, kWaiting, kRunning, kOver };
  struct Trial {
    State state = State::kNew;
    int attempt = 0;
    int epoch = 0;
    double value = kNan;  // of the best report
  };

  std::vector<Event> run(TrialId id, Trial& trial) {
    const unsigned kind = random_() % 8;
    if (kind < 5) {
      const double value = kind == 0 ? kNan : static_cast<double>(random_() % 8) / 8;  // with ties
      event::Reported report = reported(id, trial.attempt, ++trial.epoch, value);
      if (kind == 1) report.metrics.emplace_back(kViolationMetric, random_() % 2);
      report.is_best = trial.epoch == 1 || random_() % 3 != 0;
      if (report.is_best) trial.value = value;
      return {report};
    }
    trial.state = kind == 5 ? State::kWaiting : State::kOver;
    if (kind == 5) return {event::Requeued{id, trial.attempt, {RequeueCause::kLost}}};
    if (kind == 6) return {failed_at(id, trial.epoch)};
    event::Told told = complete(id, trial.value);
    if (random_() % 2 == 0) told.state = TrialState::kPruned;
    if (told.state == TrialState::kPruned) told.reason = {EndCause::kPruner, "asha"};
    return {told};
  }

  std::mt19937 random_;
  std::vector<Trial> trials_ = std::vector<Trial>(4);
};

TEST(StudySummary, IsWhatTheEventsSayAfterEachOfThem) {
  for (unsigned seed = 1; seed <= 3; ++seed) {
    OneStudy one;
    const auto reader = must(Reader::open(one.path));
    History history(seed);
    for (int i = 0; i < 60; ++i) {
      one.append(history.next());
      ASSERT_EQ(best_listed(*reader), best_of_trials(*reader)) << "seed " << seed << ", " << i;
    }
    EXPECT_EQ(must(check(one.path)), std::vector<std::string>{}) << "seed " << seed;
  }
}

TEST(StudySummary, KnowsTheBestTrialAgainOnceTheStudyEnds) {
  OneStudy one;
  one.append({asked(0), asked(1), started(0, 1), started(1, 1), reported(0, 1, 1, 0.5),
              reported(1, 1, 1, 0.7), reported(1, 1, 2, 0.4)});
  const auto known = [&one] {
    const auto database = must(sqlite::open(one.path.string(), SQLITE_OPEN_READONLY));
    return must(find_study(database.get(), "s")).summary;
  };
  EXPECT_FALSE(known().is_best_known);
  one.append({event::StudyState{StudyPhase::kDone, "1cpu-h", 1}});
  EXPECT_TRUE(known().is_best_known);
  EXPECT_EQ(known().best, (BestTrial{0, 0.5}));
}

TEST(StudySummary, StillKnowsTheBestTrialWhenOneIsRetriedThatReportedNothing) {
  for (const bool had_reported : {false, true}) {
    OneStudy one;
    one.append({asked(0), asked(1), started(0, 1), started(1, 1), reported(0, 1, 1, 0.5)});
    if (had_reported) one.append({reported(1, 1, 1, 0.7)});
    one.append({failed_at(1, had_reported ? 1 : 0)});
    one.append({event::Requeued{1, 1, {RequeueCause::kRetried}}});
    const auto database = must(sqlite::open(one.path.string(), SQLITE_OPEN_READONLY));
    EXPECT_EQ(must(find_study(database.get(), "s")).summary.is_best_known, !had_reported);
  }
}

TEST(StudySummary, OfEqualTrialsACompleteOneIsTheBest) {
  OneStudy one;
  event::Told pruned = complete(0, 0.5);
  pruned.state = TrialState::kPruned;
  pruned.reason = {EndCause::kPruner, "asha"};
  one.append({asked(0), asked(1), started(0, 1), started(1, 1), reported(0, 1, 1, 0.5), pruned,
              reported(1, 1, 1, 0.5)});
  const auto reader = must(Reader::open(one.path));
  EXPECT_EQ(best_listed(*reader), "2|0.5|0");
  one.append({complete(1, 0.5)});
  EXPECT_EQ(best_listed(*reader), "2|0.5|1");
  EXPECT_EQ(must(check(one.path)), std::vector<std::string>{});
}

TEST(StudySummary, ThatDisagreesWithTheEventsIsReported) {
  const auto change = [](const auto& falsify) {
    OneStudy one;
    one.append({asked(0), started(0, 1), reported(0, 1, 1, 0.5)});
    one.ledger.reset();
    {
      const auto database = must(sqlite::open_for_writing(one.path));
      Study study = must(find_study(database.get(), "s"));
      falsify(study.summary);
      must(must(EventWriter::make(database.get())).save(study));
    }
    const auto problems = must(check(one.path));
    EXPECT_TRUE(problems.size() == 1 && problems[0].find("summary") != std::string::npos);
  };
  change([](StudySummary& summary) { ++summary.trials; });
  change([](StudySummary& summary) { summary.best->value = 0.6; });
  change([](StudySummary& summary) { summary.best.reset(); });
}

}  // namespace
}  // namespace detol
