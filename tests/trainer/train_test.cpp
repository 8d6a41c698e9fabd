// The training loop, once for every backend.

#include <gtest/gtest.h>

#include "tests/trainer/report_bits.h"
#include "tests/trainer/trial_runs.h"
#include "trainer/data/formats/formats.h"
#include "trainer/data/formats/packed.h"

namespace detol {
namespace {

using testing_support::data;
using testing_support::easy_recipe;
using testing_support::final_bits;
using testing_support::metric;
using testing_support::Ran;
using testing_support::small_network;
using testing_support::TempFolder;
using testing_support::TrialRuns;
using testing_support::write_idx;

class Trainers : public TrialRuns {};

TEST_P(Trainers, LearnsAnEasyTask) {
  const Ran ran = run(job(easy_recipe()));
  ASSERT_EQ(ran.reports.size(), 4u);
  EXPECT_EQ(ran.evaluation.end, Evaluation::End::kFinished);
  EXPECT_GE(metric(ran.reports.back(), "val_accuracy"), 0.95);
  EXPECT_GE(metric(ran.reports.back(), "train_accuracy"), 0.9);
  EXPECT_LT(metric(ran.reports.back(), "val_loss"), metric(ran.reports.front(), "val_loss"));
  EXPECT_LT(metric(ran.reports.back(), "train_loss"), metric(ran.reports.front(), "train_loss"));
}

TEST_P(Trainers, LearnsItWithAdamwToo) {
  Recipe recipe = easy_recipe();
  recipe.optimizer = "adamw";
  recipe.lr = 0.005;
  EXPECT_GE(metric(run(job(recipe)).reports.back(), "val_accuracy"), 0.95);
}

TEST_P(Trainers, ReportsEveryEpochInOrderWithItsWork) {
  const Job one = job(easy_recipe());
  const Ran ran = run(one);
  const double images = 320;  // ten steps of 32
  for (int epoch = 1; epoch <= 4; ++epoch) {
    const EpochReport& report = ran.reports.at(static_cast<std::size_t>(epoch) - 1);
    EXPECT_EQ(report.epoch, epoch);
    EXPECT_EQ(report.work, static_cast<double>(one.candidate.cost.flops) * images * epoch);
    EXPECT_GT(report.train_s, 0);
  }
  EXPECT_EQ(ran.progress, 4u * (10 + 3));  // steps and batches of validation
}

TEST_P(Trainers, ReportsPartsOfTheFirstEpochInOrder) {
  Recipe recipe = easy_recipe();
  recipe.early_reports = {2, 1000, 5, 999};  // of ten steps: after five, one, two and again one
  const Job one = job(recipe);
  std::vector<EpochReport> reports;
  std::vector<double> kept;  // with a checkpoint of its own
  const Reporter report = [&](const EpochReport& epoch, bool) {
    reports.push_back(epoch);
    const auto checkpoint = read_checkpoint(one.folder, epoch.epochs());
    if (checkpoint && checkpoint->step == epoch.step) kept.push_back(epoch.epochs());
    return Verdict::kContinue;
  };
  Control control;
  ASSERT_TRUE(
      make_trainer(data(), {.backend = GetParam()}).value()->evaluate(one, report, control));
  const std::vector<double> expected = {0.001, 0.2, 0.5, 1, 2, 3, 4};
  const std::vector<std::int64_t> steps = {1, 2, 5, 10, 20, 30, 40};
  ASSERT_EQ(reports.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(reports[i].epochs(), expected[i]);
    EXPECT_EQ(reports[i].step, steps[i]);
    EXPECT_EQ(reports[i].work, static_cast<double>(one.candidate.cost.flops * 32 * steps[i]));
  }
  EXPECT_EQ(kept, expected);
}

TEST_P(Trainers, TheLatencyIsMeasuredOnceAndChangesNoBit) {
  const Job one = job(easy_recipe(), "one"), plain = job(easy_recipe(), "plain");
  const auto trainer = make_trainer(data(), {.backend = GetParam(), .latency_batch = 3}).value();
  std::vector<double> latencies;
  const Reporter report = [&](const EpochReport& epoch, bool) {
    latencies.push_back(metric(epoch, "latency"));
    return Verdict::kContinue;
  };
  Control control;
  ASSERT_TRUE(trainer->evaluate(one, report, control));
  ASSERT_EQ(latencies.size(), 4u);
  EXPECT_GT(latencies.front(), 0);
  EXPECT_EQ(latencies, std::vector<double>(4, latencies.front()));
  run(plain);
  EXPECT_EQ(final_bits(one), final_bits(plain));
}

TEST_P(Trainers, ACandidateThatIsTooSlowIsRefusedWithTheNumbersAndNotTrained) {
  const auto trainer =
      make_trainer(data(), {.backend = GetParam(),
                            .latency_batch = 1,
                            .latency_constraints = {{.metric = "latency", .high = 1e-12}}})
          .value();
  Control control;
  const auto evaluation = trainer->evaluate(
      job(easy_recipe()),
      [](const EpochReport&, bool) {
        ADD_FAILURE() << "it was trained";
        return Verdict::kStop;
      },
      control);
  ASSERT_TRUE(evaluation);
  EXPECT_EQ(evaluation->end, Evaluation::End::kFailed);
  EXPECT_EQ(evaluation->cause, Cause::kTooLarge);
  EXPECT_NE(evaluation->reason.find("s > 1e-12 s"), std::string::npos) << evaluation->reason;
}

TEST_P(Trainers, TheCheckpointIsThereBeforeTheReport) {
  const Job one = job(easy_recipe());
  Control control;
  std::vector<int> found;
  const Reporter report = [&](const EpochReport& epoch, bool) {
    const auto checkpoint = read_checkpoint(one.folder, epoch.epoch);
    if (checkpoint && checkpoint->epoch == epoch.epoch) found.push_back(epoch.epoch);
    return Verdict::kContinue;
  };
  ASSERT_TRUE(
      make_trainer(data(), {.backend = GetParam()}).value()->evaluate(one, report, control));
  EXPECT_EQ(found, (std::vector{1, 2, 3, 4}));
}

TEST_P(Trainers, TwoRunsAreEqualToTheBit) {
  const Job one = job(easy_recipe(), "one"), two = job(easy_recipe(), "two");
  EXPECT_EQ(bits(run(one).reports), bits(run(two).reports));
  EXPECT_EQ(final_bits(one), final_bits(two));
}

TEST_P(Trainers, OneTrainersSecondCandidateIsAsGoodAsFirst) {
  const Job alone = job(easy_recipe(), "alone"), before = job(easy_recipe(), "before");
  Job second = job(easy_recipe(), "second");
  const auto trainer = make_trainer(data(), {.backend = GetParam()}).value();
  Control control;
  const Reporter go_on = [](const EpochReport&, bool) { return Verdict::kContinue; };
  ASSERT_TRUE(trainer->evaluate(before, go_on, control));
  ASSERT_TRUE(trainer->evaluate(second, go_on, control));
  run(alone);
  EXPECT_EQ(final_bits(second), final_bits(alone));
}

TEST_P(Trainers, AnotherSeedGivesOtherNumbers) {
  Job one = job(easy_recipe(), "one"), two = job(easy_recipe(), "two");
  two.seed = 12;
  EXPECT_NE(bits(run(one).reports), bits(run(two).reports));
}

TEST_P(Trainers, StopEndsTheTrialAtThatEpoch) {
  const Ran ran = run(job(easy_recipe()), 2, Verdict::kStop);
  EXPECT_EQ(ran.reports.size(), 2u);
  EXPECT_EQ(ran.evaluation.end, Evaluation::End::kFinished);
}

TEST_P(Trainers, ADivergedCandidateFailsAtOnceAndReportsNothing) {
  Recipe recipe = easy_recipe();
  recipe.lr = 1e9;
  recipe.warmup_epochs = 0;
  const Ran ran = run(job(recipe));
  EXPECT_TRUE(ran.reports.empty());
  EXPECT_EQ(ran.evaluation.end, Evaluation::End::kFailed);
  EXPECT_EQ(ran.evaluation.cause, Cause::kDiverged);
  EXPECT_NE(ran.evaluation.reason.find("epoch 1"), std::string::npos) << ran.evaluation.reason;
  EXPECT_LT(ran.progress, 13u);
}

TEST_P(Trainers, ABatchOfMoreThanAllImagesIsAllImages) {
  Recipe recipe = easy_recipe();
  recipe.batch_size = 1 << 20;
  const Job one = job(recipe);
  const Ran ran = run(one, 1, Verdict::kStop);
  EXPECT_EQ(ran.reports.at(0).work, static_cast<double>(one.candidate.cost.flops) * 320);
}

TEST_P(Trainers, ACandidateForOtherDataIsAnErrorNotAResult) {
  Job one = job(easy_recipe());
  one.candidate.network = small_network({1, 12, 12}, 5);
  const auto ran = try_run(one);
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().code, ErrorCode::kInput);
}

TEST_P(Trainers, ACheckpointThatCannotBeWrittenIsAnErrorNotAResult) {
  testing_support::write_bytes(folder_.path() / "file", "");
  const auto ran = try_run(job(easy_recipe(), "file"));
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().code, ErrorCode::kStorage);
}

// Trains on the data `from`, with batches made ahead, and returns the bits of the last state.
std::vector<std::uint32_t> bits_of(const Job& job, const DataConfig& from, std::string backend,
                                   int ahead) {
  Control control;
  const auto trainer =
      make_trainer(from, {.backend = std::move(backend), .batches_ahead = ahead}).value();
  const auto go_on = [](const EpochReport&, bool) { return Verdict::kContinue; };
  EXPECT_EQ(trainer->evaluate(job, go_on, control)->end, Evaluation::End::kFinished);
  return final_bits(job);
}

TEST_P(Trainers, BatchesMadeAheadChangeNoBit) {
  EXPECT_EQ(bits_of(job(easy_recipe(), "ahead"), data(), GetParam(), 3),
            bits_of(job(easy_recipe(), "plain"), data(), GetParam(), 0));
}

// Returns a copy of the data with other test images, all labelled 1.
DataConfig poisoned(const DataConfig& from, const std::filesystem::path& folder) {
  std::filesystem::copy(from.path, folder);
  const testing_support::IdxData garbage{.noise = 96, .seed = 99};
  std::string labels = idx_labels(garbage, garbage.test);
  for (int i = 0; i < garbage.test; ++i)
    labels[labels.size() - 1 - static_cast<std::size_t>(i)] = 1;
  testing_support::write_bytes(folder / "t10k-images-idx3-ubyte",
                               idx_images(garbage, garbage.test, 7));
  testing_support::write_bytes(folder / "t10k-labels-idx1-ubyte", labels);
  DataConfig config = from;
  config.path = folder.string();
  return config;
}

TEST_P(Trainers, NoReportAndNoWeightDependsOnTheTestPart) {
  const DataConfig other = poisoned(data(), folder_.path() / "poisoned");
  ASSERT_NE(load_dataset(other)->info.fingerprint, load_dataset(data())->info.fingerprint);
  std::vector<std::vector<std::uint64_t>> reported;
  std::vector<std::vector<std::uint32_t>> weights;
  for (const DataConfig& from : {data(), other}) {
    const Job one = job(easy_recipe(), from.path == other.path ? "poisoned_trial" : "trial");
    std::vector<EpochReport> reports;
    Control control;
    const auto trainer = make_trainer(from, {.backend = GetParam()}).value();
    const auto keep = [&](const EpochReport& report, bool) {
      reports.push_back(report);
      return Verdict::kContinue;
    };
    ASSERT_EQ(trainer->evaluate(one, keep, control)->end, Evaluation::End::kFinished);
    reported.push_back(bits(reports));
    weights.push_back(final_bits(one));
  }
  EXPECT_EQ(reported[0], reported[1]);
  EXPECT_EQ(weights[0], weights[1]);
}

TEST_P(Trainers, PackedDataTrainToTheSameBits) {
  const std::filesystem::path path = folder_.path() / "d.detol";
  ASSERT_TRUE(write_packed(load_dataset(data()).value(), data().validation, path));
  DataConfig packed = data();
  packed.format = "packed";
  packed.path = path.string();
  EXPECT_EQ(bits_of(job(easy_recipe(), "packed"), packed, GetParam(), 0),
            bits_of(job(easy_recipe(), "plain"), data(), GetParam(), 0));
}

INSTANTIATE_TEST_SUITE_P(EveryBackend, Trainers, testing::ValuesIn(tested_backend_names()),
                         [](const auto& row) { return row.param; });

TEST(Trainer, AnUnknownBackendIsRefusedWithTheKnownOnes) {
  const auto trainer = make_trainer(data(), {.backend = "refrence"});
  ASSERT_FALSE(trainer);
  EXPECT_EQ(trainer.error().code, ErrorCode::kUsage);
  EXPECT_NE(trainer.error().message.find("reference"), std::string::npos);
}

// 32 images of 2^40 numbers: more than any address space.
TEST(Trainer, ACandidateLargerThanMemoryIsAResultNotAnError) {
  const TempFolder folder;
  write_idx(folder.path(), {.classes = 2, .training = 36, .test = 2, .side = 256});
  NetworkBuilder b({1, 256, 256});
  NodeId x = b.add({.kind = LayerKind::kConv, .channels = 1 << 24}, {b.input()});
  x = b.add({.kind = LayerKind::kGlobalAvgPool}, {x});
  x = b.add({.kind = LayerKind::kDense, .channels = 2}, {x});
  Job job;
  job.candidate.network = b.build(x).value();
  job.candidate.recipe.batch_size = 32;
  job.folder = folder.path() / "trial";
  Control control;
  const auto trainer =
      make_trainer({.format = "idx", .path = folder.path().string(), .validation = 0.1}, {})
          .value();
  const auto evaluation = trainer->evaluate(
      job, [](const EpochReport&, bool) { return Verdict::kContinue; }, control);
  ASSERT_TRUE(evaluation) << evaluation.error().message;
  EXPECT_EQ(evaluation->end, Evaluation::End::kFailed);
  EXPECT_EQ(evaluation->cause, Cause::kOutOfMemory);
}

}  // namespace
}  // namespace detol
