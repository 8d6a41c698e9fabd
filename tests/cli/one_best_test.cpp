// However one asks for the best trial of a study, it is the same one with the same value: `best`,
// `trial STUDY best`, the report, the dashboard, and who asks for its trials (Python, C++).

#include <cmath>
#include <fstream>

#include "core/rng.h"
#include "encodings/study/study_config.h"
#include "report/gathering/live_study.h"
#include "report/gathering/report_source.h"
#include "report/report.h"
#include "scheduler/best_trial.h"
#include "studies/best_trial.h"
#include "tests/cli/command_on_base.h"

namespace detol {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

struct Entry {
  double value = 0, other = 1;
  TrialState state = TrialState::kComplete;
  double violation = 0;
};

struct Kind {
  const char* name;
  std::string settings;  // of the space file, beside its function
  std::vector<Entry> trials;
  std::optional<TrialId> best = {};    // where the values say it
  std::optional<TrialId> chosen = {};  // by a final choice between it and the best by value
  std::vector<Objective> more = {};
  friend void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.name; }
};

// Trials of a bowl with noise, one of which is poor and was measured far too well.
std::vector<Entry> noisy() {
  std::vector<Entry> trials;
  Rng rng(6);
  for (int i = 0; i < 60; ++i) trials.push_back({.value = kNaN, .other = 5 * rng.normal()});
  return trials;
}

const std::vector<Kind> kKinds = {
    {"Smallest", "", {{3}, {1}, {2}}, 1},
    {"Largest", "objectives: [{metric: value, direction: maximize}]\n", {{3}, {1}, {4}, {2}}, 2},
    {"Pruned", "", {{3}, {1, 1, TrialState::kPruned}, {2}}, 1},
    {"CompleteBeforePruned", "", {{1, 1, TrialState::kPruned}, {1}, {1}}, 1},
    {"Failed", "", {{0, 1, TrialState::kFail}, {5}, {3}}, 2},
    {"WithoutANumber", "", {{kNaN}, {5}, {7}}, 1},
    {"KeepsConstraints", "", {{1, 1, TrialState::kComplete, 0.5}, {2}, {3}}, 1},
    {"SeveralObjectives", "", {{3, 0}, {1, 5}, {2, 1}}, 1, {}, {minimize("other")}},
    {"MeasuredAgainByFew", "search: {repeats: 1}\n", {{3}, {1}, {2}}, 1},
    {"MeasuredAgain", "search: {repeats: 1}\n", noisy()},
    {"FinalChoice", "", {{3}, {1}, {2}}, 2, 2}};

class OneBest : public testing_support::CommandOnBase, public testing::WithParamInterface<Kind> {
 protected:
  void SetUp() override {
    config_ = load_study_config("version: 1\nstudy: s\nfunction: {name: sphere, noise: 5}\n" +
                                    GetParam().settings,
                                "s.yaml")
                  .value();
    auto ledger = Ledger::open(storage()).value();
    StudyRecord record;
    record.name = "s";
    record.config = config_.text;
    config_.objectives.insert(config_.objectives.end(), GetParam().more.begin(),
                              GetParam().more.end());
    record.objectives = config_.objectives;
    id_ = ledger->create_study(record).value();
    for (TrialId id = 0; id < GetParam().trials.size(); ++id) append(*ledger, id);
    if (GetParam().chosen) {
      ASSERT_TRUE(ledger->append(id_, final_choice()));
    }
  }

  void append(Ledger& ledger, TrialId id) const {
    Entry entry = GetParam().trials[id];
    Rng rng = Rng(5).split(id);
    const Genome genome = config_.space.sample(rng);
    if (GetParam().trials.size() > 10) {
      const double truth = std::pow(genome.number("x0"), 2) + std::pow(genome.number("x1"), 2);
      entry = {.value = id == 3 ? -50 : truth + entry.other};
    }
    append_trial(ledger, id_, id, genome,
                 {{"value", entry.value},
                  {"other", entry.other},
                  {std::string(kViolationMetric), entry.violation}},
                 entry.state);
  }

  // Records the choice between the trial of the best value, 1, and another, which is chosen.
  std::vector<Event> final_choice() const {
    std::vector<Event> models;
    for (const auto& [trial, value] : {std::pair(TrialId{1}, 2.5), {*GetParam().chosen, 1.5}})
      models.push_back(event::Model{.model = static_cast<std::int64_t>(models.size()) + 1,
                                    .trial = trial,
                                    .kind = ModelKind::kCrossValidated,
                                    .state = ModelState::kComplete,
                                    .first = 1,
                                    .metrics = {{"value", value}}});
    return models;
  }

  StudyConfig config_;
  StudyId id_ = 0;
};

TEST_P(OneBest, IsTheSameForEverybodyWhoAsks) {
  const Json best = json({"best", "s"});
  const Json trial = best["trial"];
  if (GetParam().best) {
    EXPECT_EQ(trial, *GetParam().best);
  }
  EXPECT_EQ(json({"trial", "s", "best"})["trial"], trial);
  const OpenStudy study = open_study(storage(), "s").value();
  EXPECT_EQ(trial_called(study, "best").value().id, trial);
  const Json report = model_of(read_source(study, storage()).value())["found"]["best"];
  EXPECT_EQ(report["trial"], trial);
  EXPECT_EQ(report["values"][0], best["value"]);
  LiveStudy live(storage(), id_);
  const Json shown = Json::parse(live.model(study).value().json, nullptr, false);
  EXPECT_EQ(shown["found"]["best"]["trial"], trial);
  EXPECT_EQ(shown["found"]["best"]["values"][0], best["value"]);
}

// Callers evaluate the trials of their studies, which are never trained on other folds.
TEST_P(OneBest, IsTheSameForWhoeverAsksForTheTrials) {
  if (GetParam().chosen) GTEST_SKIP() << "no such study has a final choice";
  StudyState state(config_.space, config_.objectives);
  const auto events = Ledger::open(storage()).value()->events(id_).value();
  for (const Event& event : events) ASSERT_TRUE(state.apply(event));
  const TrialRecord* best = best_trial(state, config_);
  ASSERT_NE(best, nullptr);
  EXPECT_EQ(json({"best", "s"})["trial"], best->trial.id);
}

INSTANTIATE_TEST_SUITE_P(Kinds, OneBest, testing::ValuesIn(kKinds),
                         [](const auto& kind) { return kind.param.name; });

}  // namespace
}  // namespace detol
