// What searchers are told of constraints, in a search and after a resume.

#include <cmath>
#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "tests/scheduler/fake_study.h"

namespace detol {
namespace {

using testing_support::events_of;
using testing_support::FakeStudy;

using Excesses = std::map<TrialId, std::vector<double>>;

// Listener passes everything on, and remembers the last excesses that it was told of each trial.
class Listener final : public Searcher {
 public:
  Listener(std::unique_ptr<Searcher> inner, Excesses& told)
      : inner_(std::move(inner)), told_(told) {}

  std::vector<Trial> ask(TrialId first_id, int count) override {
    return inner_->ask(first_id, count);
  }
  void expect(const Trial& trial) override { inner_->expect(trial); }
  void tell(const Trial& trial, const Outcome& outcome) override {
    if (const auto* measured = std::get_if<Measured>(&outcome))
      told_[trial.id] = measured->excesses;
    inner_->tell(trial, outcome);
  }

 private:
  const std::unique_ptr<Searcher> inner_;
  Excesses& told_;
};

void listen(FakeStudy& study, Excesses& told) {
  study.wrapped = [&told](std::unique_ptr<Searcher> searcher) {
    return std::make_unique<Listener>(std::move(searcher), told);
  };
}

// Constraints on the size, which grows with the epoch, and on a metric that nobody reports.
void constrain(FakeStudy& study) {
  study.config.metric_constraints = {{.metric = "size", .high = 4}, {.metric = "size", .low = 1}};
  study.pool.others = [](const message::Train& train, int epoch) {
    return NamedMetrics{{"size", static_cast<double>(train.trial) + epoch}};
  };
}

// Returns what a new master tells its searcher, which knows the ledger alone.
Excesses told_after_resume(const FakeStudy& study) {
  FakeStudy resumed(1, study.ledger);
  resumed.step = study.step;
  resumed.config.space = study.config.space;
  resumed.config.metric_constraints = study.config.metric_constraints;
  resumed.config.pruner = study.config.pruner;
  resumed.arch_hash = study.arch_hash;
  Excesses told;
  listen(resumed, told);
  EXPECT_TRUE(resumed.replay());
  return told;
}

TEST(DriverConstraints, TheSearcherHearsTheExcessesOfTheReportThatCounts) {
  FakeStudy study;
  constrain(study);
  study.budget = "3trials";
  study.pool.is_best = [](const message::Train&, int epoch) { return epoch <= 2; };
  Excesses told;
  listen(study, told);
  ASSERT_TRUE(study.run());
  EXPECT_EQ(told, (Excesses{{0, {-0.5, -1}}, {1, {-0.25, -2}}, {2, {0, -3}}}));
  EXPECT_EQ(told_after_resume(study), told);
}

TEST(DriverConstraints, APausedTrialAndItsResumeAreHeardAlike) {
  FakeStudy study;
  constrain(study);
  study.config.pruner = {"asha", {{"min_resource", "1"}, {"reduction_factor", "2"}}};
  study.budget = "8trials";
  Excesses told;
  listen(study, told);
  ASSERT_TRUE(study.run());
  bool is_one_paused = false, is_one_full = false;
  for (const TrialRecord& trial : study.driver->state().trials()) {
    const double size = static_cast<double>(trial.trial.id) + trial.best_epoch;
    EXPECT_EQ(told.at(trial.trial.id), (std::vector{(size - 4) / 4, 1 - size}));
    (trial.epochs < 4 ? is_one_paused : is_one_full) = true;
  }
  EXPECT_TRUE(is_one_paused && is_one_full);
  EXPECT_EQ(told_after_resume(study), told);
}

TEST(DriverConstraints, AnAnswerFromAnEqualTrialHasItsExcesses) {
  FakeStudy study(2);
  constrain(study);
  study.step = 0.5;
  study.config.space = SpaceBuilder().add_float("x", 0, 1, {.step = 0.5}).build().value();
  study.config.algorithm.name = "random";
  Excesses told;
  listen(study, told);
  ASSERT_TRUE(study.run());
  int answered = 0;
  for (const TrialRecord& trial : study.driver->state().trials()) {
    if (trial.reason.cause != EndCause::kSameTrial) continue;
    ++answered;
    EXPECT_EQ(told.at(trial.trial.id), told.at(trial.reason.same_as));
    EXPECT_EQ(told.at(trial.trial.id).size(), 2u);
  }
  EXPECT_GT(answered, 0);
  EXPECT_EQ(told_after_resume(study), told);
}

TEST(DriverConstraints, AMetricThatIsMissingIsExceededWithoutLimit) {
  FakeStudy study;
  study.config.metric_constraints = {{.metric = "size", .high = 4}};
  study.budget = "1trials";
  Excesses told;
  listen(study, told);
  ASSERT_TRUE(study.run());
  EXPECT_EQ(told, (Excesses{{0, {INFINITY}}}));
}

}  // namespace
}  // namespace detol
