#include "trainer/function.h"

#include <cmath>

#include <gtest/gtest.h>

#include "core/table.h"
#include "trainer/formulas.h"

namespace detol {
namespace {

StudyConfig sleep_of(double seconds) {
  return load_study_config("version: 1\nstudy: s\nfunction: {name: sleep, seconds: " +
                               std::to_string(seconds) + "}\n",
                           "s.yaml")
      .value();
}

Job job_of(const StudyConfig& config) {
  Rng rng(1);
  const Genome genome = config.space.sample(rng);
  return {.candidate = config.candidate(genome, {}).value(),
          .genome = genome,
          .folder = "/nowhere/and/never"};
}

// Ran holds the reports and the outcome.
struct Ran {
  std::vector<EpochReport> reports;
  Evaluation evaluation;
};

Ran run(const StudyConfig& config, const Job& job, Control& control,
        Verdict verdict = Verdict::kStop) {
  Ran ran;
  const Reporter report = [&](const EpochReport& epoch, bool) {
    ran.reports.push_back(epoch);
    return verdict;
  };
  ran.evaluation = make_evaluator(config, {}).value()->evaluate(job, report, control).value();
  return ran;
}

TEST(Functions, EveryOneHasItsFormula) {
  ASSERT_EQ(names_of(formulas()), names_of(functions()));
}

TEST(Sleep, ReportsZeroOnceAndLeavesNoFile) {
  const StudyConfig config = sleep_of(0);
  Control control;
  const Ran ran = run(config, job_of(config), control);
  ASSERT_EQ(ran.reports.size(), 1u);
  EXPECT_EQ(ran.reports[0].epoch, 1);
  ASSERT_EQ(ran.reports[0].metrics.size(), 1u);
  EXPECT_EQ(ran.reports[0].metrics[0].name, "value");
  EXPECT_EQ(ran.reports[0].metrics[0].value, 0);
  EXPECT_EQ(ran.reports[0].work, 0);
  EXPECT_EQ(ran.evaluation.end, Evaluation::End::kFinished);
  EXPECT_FALSE(std::filesystem::exists("/nowhere"));
}

TEST(Sleep, TakesAtLeastItsSecondsAndShowsProgressMeanwhile) {
  const StudyConfig config = sleep_of(0.25);
  Control control;
  const Ran ran = run(config, job_of(config), control);
  EXPECT_GE(ran.reports.at(0).train_s, 0.25);
  EXPECT_GE(control.progress, 3u);
}

TEST(Sleep, EndsWhenItIsAskedToSuspend) {
  const StudyConfig config = sleep_of(1e6);
  Control control;
  control.suspend = true;
  const Ran ran = run(config, job_of(config), control);
  EXPECT_EQ(ran.evaluation.end, Evaluation::End::kSuspended);
  EXPECT_TRUE(ran.reports.empty());
}

TEST(Sleep, WhatWasAcknowledgedIsNotDoneAgain) {
  const StudyConfig config = sleep_of(1e6);
  Job job = job_of(config);
  job.acknowledged = 1;
  Control control;
  EXPECT_EQ(run(config, job, control).evaluation.end, Evaluation::End::kFinished);
}

TEST(Sleep, HearsTheVerdict) {
  const StudyConfig config = sleep_of(0);
  Control control;
  EXPECT_EQ(run(config, job_of(config), control, Verdict::kSuspend).evaluation.end,
            Evaluation::End::kSuspended);
}

TEST(Function, ReportsAllOfItsObjectives) {
  const StudyConfig config =
      load_study_config("version: 1\nstudy: s\nfunction: {name: dtlz2}\n", "s.yaml").value();
  Control control;
  const Ran ran = run(config, job_of(config), control);
  ASSERT_EQ(ran.reports.size(), 1u);
  double squares = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(ran.reports[0].metrics.at(i).name, config.objectives.at(i).metric);
    squares += std::pow(ran.reports[0].metrics[i].value, 2);
  }
  EXPECT_GE(squares, 1);
}

double noisy_value(const std::string& noise, std::uint64_t trial_seed) {
  const StudyConfig config =
      load_study_config("version: 1\nstudy: s\nfunction: {name: levy, noise: " + noise + "}\n",
                        "s.yaml")
          .value();
  Job job = job_of(config);
  job.seed = trial_seed;
  Control control;
  return run(config, job, control).reports.at(0).metrics.at(0).value;
}

TEST(Function, ItsNoiseIsOfTheTrialsSeedAndHasItsDeviation) {
  const double exact = noisy_value("0", 1);
  EXPECT_EQ(noisy_value("0", 2), exact);
  EXPECT_EQ(noisy_value("0.5", 7), noisy_value("0.5", 7));
  double sum = 0, squares = 0;
  constexpr int kTrials = 400;
  for (int seed = 0; seed < kTrials; ++seed) {
    const double error = noisy_value("0.5", static_cast<std::uint64_t>(seed)) - exact;
    sum += error;
    squares += error * error;
  }
  EXPECT_NEAR(sum / kTrials, 0, 0.075);  // three standard errors
  EXPECT_NEAR(std::sqrt(squares / kTrials), 0.5, 0.055);
}

TEST(Evaluators, AStudyOfAFunctionNeedsNoData) {
  const auto info = inspect_study(sleep_of(0));
  ASSERT_TRUE(info) << info.error().message;
  EXPECT_EQ(info->training, 0);
}

TEST(EpochWork, IsOfTheImagesThatFillABatch) {
  Candidate candidate;
  candidate.cost.flops = 10;
  candidate.recipe.batch_size = 32;
  DatasetInfo data;
  data.training = 100;
  EXPECT_EQ(epoch_work(candidate, data), 10 * 96);
  candidate.recipe.batch_size = 300;
  EXPECT_EQ(epoch_work(candidate, data), 10 * 100);
  EXPECT_EQ(epoch_work(candidate, {}), 0) << "no data";
}

TEST(Evaluators, TheLastOneTakesEveryStudy) {
  ASSERT_FALSE(evaluators().empty());
  EXPECT_TRUE(evaluators().back().scores(StudyConfig{}));
}

}  // namespace
}  // namespace detol
