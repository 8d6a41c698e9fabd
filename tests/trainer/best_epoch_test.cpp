// Tests which epoch of a training counts, and that its weights are kept, once for every backend.

#include <algorithm>

#include <gtest/gtest.h>

#include "tests/trainer/report_bits.h"
#include "tests/trainer/trial_runs.h"
#include "trainer/reports/epoch_ranking.h"

namespace detol {
namespace {

using testing_support::bits;
using testing_support::easy_recipe;
using testing_support::Ran;
using testing_support::TrialRuns;

// The training loss falls in every epoch, and the accuracy of this recipe goes up and down.
const EpochRanking kFirstIsBest{"train_loss", Direction::kMaximize};
const EpochRanking kLastIsBest{"train_loss", Direction::kMinimize};
const EpochRanking kByAccuracy{"val_accuracy", Direction::kMaximize};

Checkpoint last_of(const Job& job) {
  return newest_checkpoint(job.folder, job.attempt).value().value();
}

std::vector<std::uint32_t> weight_bits(const Weights& weights) {
  return bits(TrainingState{weights, {}});
}

// Returns the epoch of the best report.
int best_of(const std::vector<EpochReport>& reports) {
  const auto best = std::ranges::find_if(reports.rbegin(), reports.rend(), &EpochReport::is_best);
  return best == reports.rend() ? 0 : best->epoch;
}

class BestEpochs : public TrialRuns {
 protected:
  Recipe recipe() const {
    Recipe recipe = easy_recipe();
    recipe.lr = 0.3;
    recipe.epochs = 6;
    recipe.schedule = "constant";
    return recipe;
  }

  // Returns the weights that a training of so many epochs is scored with.
  std::vector<std::uint32_t> weights_after(const Recipe& recipe, int epoch) {
    const auto ranking = std::exchange(ranking_, std::nullopt);
    const Job one = job(recipe, "after-" + std::to_string(epoch));
    run(one, epoch, Verdict::kStop);
    ranking_ = ranking;
    return weight_bits(scored_weights(last_of(one).state));
  }
};

TEST_P(BestEpochs, TheFileOfTheLastEpochHasTheWeightsOfTheBestOne) {
  for (const EpochRanking& ranking : {kFirstIsBest, kByAccuracy}) {
    ranking_ = ranking;
    const Job one = job(recipe(), ranking.metric);
    const Ran ran = run(one);
    const Checkpoint last = last_of(one);
    const int best = best_of(ran.reports);
    EXPECT_LT(best, 6);
    EXPECT_EQ(best_report(last)->epoch, best);
    EXPECT_EQ(weight_bits(best_weights(last)), weights_after(recipe(), best));
  }
}

TEST_P(BestEpochs, WithAveragedWeightsItHasTheBestAverage) {
  Recipe averaged = recipe();
  averaged.ema = 0.9;
  ranking_ = kFirstIsBest;
  const Job one = job(averaged);
  run(one);
  EXPECT_EQ(weight_bits(best_weights(last_of(one))), weights_after(averaged, 1));
}

TEST_P(BestEpochs, NoCopyIsWrittenWhereTheLastIsTheBest) {
  ranking_ = kLastIsBest;
  const Job ranked = job(recipe(), "ranked");
  EXPECT_EQ(best_of(run(ranked).reports), 6);
  EXPECT_TRUE(last_of(ranked).best.empty());
  ranking_.reset();
  const Job one = job(recipe(), "unranked");
  run(one);
  EXPECT_TRUE(last_of(one).best.empty());
}

TEST_P(BestEpochs, AnInterruptedTrialKeepsTheSameWeights) {
  for (const EpochRanking& ranking : {kFirstIsBest, kByAccuracy}) {
    ranking_ = ranking;
    const Job whole = job(recipe(), "whole" + ranking.metric);
    const std::vector<EpochReport> expected = run(whole).reports;
    for (int stop = 1; stop <= 5; ++stop) {
      Job cut = job(recipe(), ranking.metric + std::to_string(stop));
      run(cut, stop, Verdict::kSuspend);
      cut.acknowledged = stop;
      cut.attempt = 2;
      const Ran rest = run(cut);
      EXPECT_EQ(bits(rest.reports), bits(std::vector(expected.begin() + stop, expected.end())));
      EXPECT_EQ(weight_bits(best_weights(last_of(cut))), weight_bits(best_weights(last_of(whole))))
          << ranking.metric << ", stopped after epoch " << stop;
    }
  }
}

TEST_P(BestEpochs, WithItsCheckpointsLostATrialComesToTheSameWeights) {
  ranking_ = kFirstIsBest;
  Job lost = job(recipe());
  run(lost, 3, Verdict::kSuspend);
  std::filesystem::remove_all(lost.folder);
  lost.acknowledged = 3;
  EXPECT_EQ(best_of(run(lost).reports), 0);  // none of the new ones
  EXPECT_EQ(weight_bits(best_weights(last_of(lost))), weights_after(recipe(), 1));
}

TEST_P(BestEpochs, AnEarlyReportCanBeTheBest) {
  Recipe early = recipe();
  early.early_reports = {2};
  ranking_ = kFirstIsBest;
  const Job one = job(early);
  const Ran ran = run(one, -1);  // to the end
  EXPECT_TRUE(ran.reports.front().is_best);
  EXPECT_EQ(best_of(ran.reports), 0);
  ASSERT_EQ(ran.reports.size(), 7U);
  const Checkpoint last = last_of(one);
  EXPECT_EQ(best_report(last)->epochs(), 0.5);
  EXPECT_FALSE(last.best.empty());
}

TEST_P(BestEpochs, ACheckpointWithoutTheBestWeightsIsNotContinued) {
  ranking_ = kFirstIsBest;
  const Job one = job(recipe());
  const Ran first = run(one, 3, Verdict::kSuspend);
  Checkpoint stripped = last_of(one);
  stripped.best.clear();
  ASSERT_TRUE(write_checkpoint(one.folder, stripped));
  const Ran again = run(one);
  EXPECT_EQ(again.reports.size(), 6U);
  EXPECT_EQ(weight_bits(best_weights(last_of(one))), weights_after(recipe(), 1));
}

TEST_P(BestEpochs, InAGroupOfReportsAreTheSame) {
  for (const EpochRanking& ranking : {kFirstIsBest, kByAccuracy}) {
    ranking_ = ranking;
    undecided_ = 0;
    const Job alone = job(recipe(), "alone" + ranking.metric);
    const Ran expected = run(alone);
    EXPECT_EQ(expected.groups, 6);
    undecided_ = 4;
    const Job grouped = job(recipe(), "grouped" + ranking.metric);
    const Ran ran = run(grouped);
    EXPECT_LE(ran.groups, 6);
    EXPECT_EQ(bits(ran.reports), bits(expected.reports));
    EXPECT_EQ(bits(last_of(grouped).state), bits(last_of(alone).state));
    EXPECT_EQ(weight_bits(best_weights(last_of(grouped))),
              weight_bits(best_weights(last_of(alone))));
  }
}

TEST_P(BestEpochs, WhereTheLastCountsReportsAreInAGroupOnlyIfNobodyEverDecides) {
  ranking_ = std::nullopt;
  const Job alone = job(recipe(), "alone"), grouped = job(recipe(), "grouped");
  undecided_ = 4;
  const Ran expected = run(alone);
  EXPECT_EQ(expected.groups, 6);
  undecided_ = std::numeric_limits<double>::infinity();
  const Ran ran = run(grouped);
  EXPECT_LE(ran.groups, 6);
  EXPECT_EQ(bits(ran.reports), bits(expected.reports));
  EXPECT_EQ(bits(last_of(grouped).state), bits(last_of(alone).state));
}

TEST_P(BestEpochs, AGroupOfReportsEndsWhereSomebodyDecides) {
  ranking_ = kFirstIsBest;
  undecided_ = 3;
  const Ran ran = run(job(recipe()), 3, Verdict::kSuspend);
  EXPECT_EQ(ran.evaluation.end, Evaluation::End::kSuspended);
  EXPECT_EQ(ran.reports.size(), 3U);
  EXPECT_EQ(last_of(job(recipe())).epoch, 3);
}

INSTANTIATE_TEST_SUITE_P(EveryBackend, BestEpochs, testing::ValuesIn(tested_backend_names()),
                         [](const auto& row) { return row.param; });

std::vector<EpochReport> history_of(const std::vector<double>& values) {
  std::vector<EpochReport> history;
  for (const double value : values)
    history.push_back({.epoch = static_cast<int>(history.size()) + 1,
                       .metrics = {{"m", value}, {"limited", 10 * value}},
                       .train_s = 1});
  return history;
}

// Marks the reports in turn; returns the epochs that were the best when they were reported.
std::vector<int> bests(const EpochRanking& ranking, std::vector<EpochReport> history) {
  std::vector<int> all;
  for (std::size_t i = 0; i < history.size(); ++i) {
    history[i].is_best = is_best(ranking, std::span(history).first(i + 1));
    if (history[i].is_best) all.push_back(history[i].epoch);
  }
  return all;
}

TEST(EpochRankings, OfEqualsTheFirstIsTheBestAndNanIsTheWorst) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto history = history_of({nan, 2, 1, 2, nan, 3});
  EXPECT_EQ(bests({"m", Direction::kMaximize}, history), (std::vector{1, 2, 6}));
  EXPECT_EQ(bests({"m", Direction::kMinimize}, history), (std::vector{1, 2, 3}));
}

TEST(EpochRankings, AnEpochThatKeepsToTheConstraintsIsBetter) {
  const EpochRanking ranking{
      "m", Direction::kMaximize, {{.metric = "limited", .low = {}, .high = 25}}};
  EXPECT_EQ(bests(ranking, history_of({3, 4, 1, 5, 2})), (std::vector{1, 2, 3, 5}));
}

TEST(EpochRankings, ALimitOnTheTrainingTimeCountsTheEpochsBefore) {
  const EpochRanking ranking{
      "m", Direction::kMaximize, {{.metric = "train_time", .low = {}, .high = 2.5}}};
  EXPECT_EQ(bests(ranking, history_of({1, 2, 3, 4})), (std::vector{1, 2}));
}

}  // namespace
}  // namespace detol
