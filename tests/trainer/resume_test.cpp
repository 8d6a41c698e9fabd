// Tests that interrupted trials are resumed, once for every backend.

#include <gtest/gtest.h>

#include "tests/trainer/report_bits.h"
#include "tests/trainer/samples.h"
#include "tests/trainer/trial_runs.h"

namespace detol {
namespace {

using testing_support::easy_recipe;
using testing_support::final_bits;
using testing_support::Ran;
using testing_support::TrialRuns;

class InterruptedTrials : public TrialRuns {};

TEST_P(InterruptedTrials, AnInterruptedTrialEndsWithTheBitsOfAnUninterruptedOne) {
  for (const std::string optimizer : {"sgd", "adamw"}) {
    Recipe recipe = easy_recipe();
    recipe.optimizer = optimizer;
    recipe.lr = 0.01;
    const Job whole = job(recipe, "whole" + optimizer);
    const std::vector<EpochReport> expected = run(whole).reports;
    for (int stop = 1; stop <= 3; ++stop) {
      Job cut = job(recipe, optimizer + std::to_string(stop));
      const Ran first = run(cut, stop, Verdict::kSuspend);
      EXPECT_EQ(first.evaluation.end, Evaluation::End::kSuspended);
      ASSERT_EQ(first.reports.size(), static_cast<std::size_t>(stop));
      cut.acknowledged = stop;
      cut.attempt = 2;
      std::vector<EpochReport> all = first.reports;
      for (const EpochReport& report : run(cut).reports) all.push_back(report);
      EXPECT_EQ(bits(all), bits(expected)) << optimizer << ", stopped after epoch " << stop;
      EXPECT_EQ(final_bits(cut), final_bits(whole));
    }
  }
}

TEST_P(InterruptedTrials, AnInterruptedTrialWithEveryKindOfStateEndsWithTheSameBits) {
  Recipe recipe = easy_recipe();
  recipe.optimizer = "rmsprop";
  recipe.lr = 1e-3;
  recipe.clip_norm = 1;
  recipe.ema = 0.9;
  Job whole = job(recipe, "whole"), cut = job(recipe, "cut");
  whole.candidate.network = cut.candidate.network = composite(7, {1, 12, 12});
  const std::vector<EpochReport> expected = run(whole).reports;
  run(cut, 2, Verdict::kSuspend);
  cut.acknowledged = 2;
  EXPECT_EQ(bits(run(cut).reports), bits(std::vector{expected[2], expected[3]}));
  EXPECT_EQ(final_bits(cut), final_bits(whole));
}

TEST_P(InterruptedTrials, ReportsAgainWhatWasNotAcknowledgedWithoutTrainingItAgain) {
  Job one = job(easy_recipe());
  const Ran first = run(one, 3, Verdict::kSuspend);
  one.acknowledged = 1;
  const Ran second = run(one, 3, Verdict::kStop);
  ASSERT_EQ(second.reports.size(), 2u);
  EXPECT_EQ(bits(second.reports), bits(std::vector{first.reports[1], first.reports[2]}));
  EXPECT_EQ(second.evaluation.end, Evaluation::End::kFinished);
  EXPECT_EQ(second.progress, 0u);
}

TEST_P(InterruptedTrials, AFinishedTrialIsNotTrainedAgain) {
  Job one = job(easy_recipe());
  run(one);
  one.acknowledged = 4;
  const Ran again = run(one);
  EXPECT_TRUE(again.reports.empty());
  EXPECT_EQ(again.progress, 0u);
  EXPECT_EQ(again.evaluation.end, Evaluation::End::kFinished);
}

TEST_P(InterruptedTrials, WithItsCheckpointsLostATrialComesToTheSameNumbers) {
  Job whole = job(easy_recipe(), "whole"), lost = job(easy_recipe(), "lost");
  const std::vector<EpochReport> expected = run(whole).reports;
  run(lost, 2, Verdict::kSuspend);
  std::filesystem::remove_all(lost.folder);
  lost.acknowledged = 2;
  EXPECT_EQ(bits(run(lost).reports), bits(std::vector{expected[2], expected[3]}));
  EXPECT_EQ(final_bits(lost), final_bits(whole));
}

TEST_P(InterruptedTrials, ADamagedCheckpointCostsOneEpoch) {
  Job whole = job(easy_recipe(), "whole"), hurt = job(easy_recipe(), "hurt");
  const std::vector<EpochReport> expected = run(whole).reports;
  run(hurt, 3, Verdict::kSuspend);
  testing_support::write_bytes(hurt.folder / "epoch-3.a1.ckpt", "DETOLCK1 but no more");
  hurt.acknowledged = 3;
  const Ran resumed = run(hurt);
  EXPECT_EQ(bits(resumed.reports), bits(std::vector{expected[3]}));
  EXPECT_EQ(resumed.progress, 2u * (10 + 3));
  EXPECT_EQ(final_bits(hurt), final_bits(whole));
}

TEST_P(InterruptedTrials, ACheckpointOfOtherSettingsIsNotContinued) {
  Recipe other = easy_recipe();
  other.weight_decay = 0.01;
  run(job(other));
  const Job fresh = job(easy_recipe(), "fresh");
  const Ran expected = run(fresh);
  const Ran after = run(job(easy_recipe()));
  EXPECT_EQ(bits(after.reports), bits(expected.reports));
  EXPECT_EQ(final_bits(job(easy_recipe())), final_bits(fresh));
}

INSTANTIATE_TEST_SUITE_P(EveryBackend, InterruptedTrials, testing::ValuesIn(tested_backend_names()),
                         [](const auto& row) { return row.param; });

}  // namespace
}  // namespace detol
