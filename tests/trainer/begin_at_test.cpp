// Trainings outside of a search: on data in memory, also on those of validation, and from the
// checkpoint of another training.

#include <gtest/gtest.h>

#include "tests/trainer/report_bits.h"
#include "tests/trainer/trial_runs.h"
#include "trainer/data/formats/formats.h"
#include "trainer/distillation.h"
#include "trainer/trainer.h"

namespace detol {
namespace {

using testing_support::easy_recipe;
using testing_support::final_bits;
using testing_support::Ran;
using testing_support::TrialRuns;

double metric_of(const EpochReport& report, std::string_view name) {
  return std::ranges::find(report.metrics, name, &Metric::name)->value;
}

class TrainingsInMemory : public TrialRuns {
 protected:
  Ran run_on(const Dataset& data, const Job& job) const {
    Ran ran;
    Control control;
    const auto trainer = make_trainer_on(data, {.backend = GetParam()}).value();
    const Reporter report = [&](const EpochReport& epoch, bool) {
      ran.reports.push_back(epoch);
      return Verdict::kContinue;
    };
    ran.evaluation = trainer->evaluate(job, report, control).value();
    return ran;
  }

  const Dataset data_ = load_dataset(testing_support::data()).value();
};

TEST_P(TrainingsInMemory, GiveTheBitsOfATrialOnTheSameData) {
  const Job read = job(easy_recipe(), "read"), kept = job(easy_recipe(), "kept");
  EXPECT_EQ(bits(run_on(data_, kept).reports), bits(run(read).reports));
  EXPECT_EQ(final_bits(kept), final_bits(read));
}

TEST_P(TrainingsInMemory, TrainOnValidationImagesToo) {
  Dataset all = data_;
  train_on_validation(all.info);
  EXPECT_EQ(all.info.training, data_.info.training + data_.info.validation);
  const Job one = job(easy_recipe());
  const Ran ran = run_on(all, one);
  ASSERT_EQ(ran.reports.size(), 4u);
  EXPECT_EQ(ran.reports[0].work, epoch_work(one.candidate, all.info));
  EXPECT_GT(ran.reports[0].work, epoch_work(one.candidate, data_.info));
  for (const Metric& metric : ran.reports[3].metrics)
    EXPECT_FALSE(metric.name.starts_with("val_")) << metric.name;
  EXPECT_FALSE(ran.reports[3].metrics.empty());
}

// What a teacher says replaces the labels: one that says them changes nothing but which checkpoints
// belong to the training, and one that says the next class is learned from.
TEST_P(TrainingsInMemory, LearnWhatATeacherSays) {
  Dataset told = data_, misled = data_;
  std::vector<float> labels, next;
  const auto classes = static_cast<std::size_t>(data_.info.task.classes);
  for (std::int64_t i = 0; i < data_.info.training; ++i) {
    const auto label = static_cast<std::size_t>(data_.labels[static_cast<std::size_t>(i)]);
    for (std::size_t k = 0; k < classes; ++k) {
      labels.push_back(k == label ? 1 : 0);
      next.push_back(k == (label + 1) % classes ? 1 : 0);
    }
  }
  teach(labels, 0.25, told);
  teach(next, 0.75, misled);
  const Job plain = job(easy_recipe(), "plain"), one = job(easy_recipe(), "one"),
            other = job(easy_recipe(), "other");
  EXPECT_EQ(bits(run_on(told, one).reports), bits(run_on(data_, plain).reports));
  const Ran ran = run_on(misled, other);
  EXPECT_LT(metric_of(ran.reports.back(), "val_accuracy"), 0.1);
  EXPECT_GT(metric_of(ran.reports.back(), "train_accuracy"), 0.9);
}

TEST_P(TrainingsInMemory, OfOtherTeachersDoNotContinueEachOther) {
  Dataset told = data_;
  const auto numbers = static_cast<std::size_t>(data_.info.training * data_.info.task.classes);
  teach(std::vector<float>(numbers, 0.1F), 0.5, told);
  const Job one = job(easy_recipe());
  const Ran plain = run_on(data_, one), taught = run_on(told, one);
  EXPECT_EQ(taught.reports.size(), 4u);
  EXPECT_NE(bits(taught.reports), bits(plain.reports)) << "not those of before, told again";
}

TEST_P(TrainingsInMemory, OnOtherSplitsDoNotContinueEachOther) {
  Recipe recipe = easy_recipe();
  recipe.batch_size = 300;  // one step an epoch of either split
  const Job one = job(recipe);
  run_on(data_, one);
  Dataset all = data_;
  train_on_validation(all.info);
  const Ran other = run_on(all, one);
  for (const Metric& metric : other.reports.at(0).metrics)
    EXPECT_FALSE(metric.name.starts_with("val_")) << metric.name;
}

TEST_P(TrainingsInMemory, FromACheckpointWithItsSeedAreTheTrainingThatItIsOf) {
  const Job whole = job(easy_recipe(), "whole"), cut = job(easy_recipe(), "cut");
  const std::vector<EpochReport> expected = run(whole).reports;
  run(cut, 2, Verdict::kSuspend);
  const Job next = job(easy_recipe(), "next");
  ASSERT_TRUE(begin_at(read_checkpoint(cut.folder, 2).value(), next, data_, GetParam()));
  EXPECT_EQ(bits(run_on(data_, next).reports), bits(expected));
  EXPECT_EQ(final_bits(next), final_bits(whole));
}

TEST_P(TrainingsInMemory, FromACheckpointGoOnToAnyLengthOnAnySplit) {
  const Job cut = job(easy_recipe(), "cut");
  const std::vector<EpochReport> first = run(cut, 2, Verdict::kSuspend).reports;
  Recipe longer = easy_recipe();
  longer.epochs = 7;
  Job next = job(longer, "next");
  next.seed = 12;
  Dataset all = data_;
  train_on_validation(all.info);
  ASSERT_TRUE(begin_at(read_checkpoint(cut.folder, 2).value(), next, all, GetParam()));
  const std::vector<EpochReport> reports = run_on(all, next).reports;
  ASSERT_EQ(reports.size(), 7u);
  EXPECT_EQ(bits(std::vector{reports[0], reports[1]}), bits(first));
  EXPECT_EQ(reports[6].step, 7 * (all.info.training / longer.batch_size));
}

INSTANTIATE_TEST_SUITE_P(EveryBackend, TrainingsInMemory, testing::ValuesIn(tested_backend_names()),
                         [](const auto& row) { return row.param; });

}  // namespace
}  // namespace detol
