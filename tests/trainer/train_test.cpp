// The training loop, once for every backend.

#include <algorithm>
#include <bit>
#include <cmath>

#include <gtest/gtest.h>

#include "encodings/cost.h"
#include "tests/support/idx_writer.h"
#include "tests/support/temp_folder.h"
#include "tests/trainer/report_bits.h"
#include "tests/trainer/samples.h"
#include "trainer/backend.h"
#include "trainer/checkpoint.h"
#include "trainer/data/packed.h"
#include "trainer/dataset.h"
#include "trainer/evaluator.h"
#include "trainer/predict.h"

namespace detol {
namespace {

using testing_support::TempFolder;
using testing_support::write_idx;

// The files are written once for all tests; each test has a folder for its checkpoints.
const DataConfig& data() {
  static const TempFolder folder;
  static const DataConfig config = [] {
    write_idx(folder.path());
    return DataConfig{.format = "idx", .path = folder.path().string(), .validation = 0.2};
  }();
  return config;
}

Network small_network(Shape input, std::int64_t classes) {
  NetworkBuilder b(input);
  NodeId x = b.add({.kind = LayerKind::kConv, .channels = 16, .kernel = 3, .stride = 2}, {0});
  x = b.add({.kind = LayerKind::kBatchNorm}, {x});
  x = b.add({.kind = LayerKind::kActivation}, {x});
  x = b.add({.kind = LayerKind::kDropout, .rate = 0.1}, {x});
  x = b.add({.kind = LayerKind::kFlatten}, {x});
  x = b.add({.kind = LayerKind::kDense, .channels = classes, .bias = true}, {x});
  return b.build(x).value();
}

Recipe easy_recipe() {
  return {.lr = 0.05,
          .weight_decay = 1e-4,
          .batch_size = 32,
          .epochs = 4,
          .schedule = "cosine",
          .warmup_epochs = 0.5,
          .crop_padding = 1};
}

// What the reporter saw and what came out.
struct Ran {
  std::vector<EpochReport> reports;
  Evaluation evaluation;
  std::uint64_t progress = 0;
};

class Trainers : public testing::TestWithParam<std::string> {
 protected:
  Job job(const Recipe& recipe, std::string_view folder = "trial") const {
    Candidate candidate{.network = small_network({1, 12, 12}, 4), .recipe = recipe, .cost = {}};
    candidate.cost = cost_of(candidate.network, recipe).value();
    return {.trial = 5,
            .seed = 11,
            .candidate = std::move(candidate),
            .folder = folder_.path() / folder};
  }

  // `verdict` is given for the epoch `at`, kContinue for all others.
  Result<Ran> try_run(const Job& job, int at = 0, Verdict verdict = Verdict::kStop) const {
    Ran ran;
    Control control;
    const auto trainer = make_trainer(data(), {.backend = GetParam()}).value();
    const Reporter report = [&](const EpochReport& epoch) {
      ran.reports.push_back(epoch);
      return epoch.epoch == at ? verdict : Verdict::kContinue;
    };
    DETOL_ASSIGN(ran.evaluation, trainer->evaluate(job, report, control));
    ran.progress = control.progress;
    return ran;
  }

  Ran run(const Job& job, int at = 0, Verdict verdict = Verdict::kStop) const {
    return try_run(job, at, verdict).value();
  }

  TempFolder folder_;
};

double metric(const EpochReport& report, std::string_view name) {
  const auto found = std::find_if(report.metrics.begin(), report.metrics.end(),
                                  [&](const Metric& m) { return m.name == name; });
  return found == report.metrics.end() ? NAN : found->value;
}

std::vector<std::uint32_t> bits(const TrainingState& state) {
  std::vector<std::uint32_t> all;
  const auto append = [&](const Weights& tensors) {
    for (const Tensor& tensor : tensors) {
      for (float value : tensor.data) all.push_back(std::bit_cast<std::uint32_t>(value));
    }
  };
  append(state.weights);
  for (const Weights& moment : state.moments) append(moment);
  append(state.average);
  return all;
}

std::vector<std::uint32_t> final_bits(const Job& job) {
  return bits(newest_checkpoint(job.folder, job.attempt).value()->state);
}

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

TEST_P(Trainers, TheCheckpointIsThereBeforeTheReport) {
  const Job one = job(easy_recipe());
  Control control;
  std::vector<int> found;
  const Reporter report = [&](const EpochReport& epoch) {
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
  const Reporter go_on = [](const EpochReport&) { return Verdict::kContinue; };
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

TEST_P(Trainers, AnInterruptedTrialEndsWithTheBitsOfAnUninterruptedOne) {
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

TEST_P(Trainers, SoDoesOneOfBlocksWithEveryKindOfState) {
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

TEST_P(Trainers, ReportsAgainWhatWasNotAcknowledgedWithoutTrainingItAgain) {
  Job one = job(easy_recipe());
  const Ran first = run(one, 3, Verdict::kSuspend);
  one.acknowledged = 1;
  const Ran second = run(one, 3, Verdict::kStop);
  ASSERT_EQ(second.reports.size(), 2u);
  EXPECT_EQ(bits(second.reports), bits(std::vector{first.reports[1], first.reports[2]}));
  EXPECT_EQ(second.evaluation.end, Evaluation::End::kFinished);
  EXPECT_EQ(second.progress, 0u);
}

TEST_P(Trainers, AFinishedTrialIsNotTrainedAgain) {
  Job one = job(easy_recipe());
  run(one);
  one.acknowledged = 4;
  const Ran again = run(one);
  EXPECT_TRUE(again.reports.empty());
  EXPECT_EQ(again.progress, 0u);
  EXPECT_EQ(again.evaluation.end, Evaluation::End::kFinished);
}

TEST_P(Trainers, WithItsCheckpointsLostATrialComesToTheSameNumbers) {
  Job whole = job(easy_recipe(), "whole"), lost = job(easy_recipe(), "lost");
  const std::vector<EpochReport> expected = run(whole).reports;
  run(lost, 2, Verdict::kSuspend);
  std::filesystem::remove_all(lost.folder);
  lost.acknowledged = 2;
  EXPECT_EQ(bits(run(lost).reports), bits(std::vector{expected[2], expected[3]}));
  EXPECT_EQ(final_bits(lost), final_bits(whole));
}

TEST_P(Trainers, ADamagedCheckpointCostsOneEpoch) {
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

TEST_P(Trainers, ACheckpointOfOtherSettingsIsNotContinued) {
  Recipe other = easy_recipe();
  other.weight_decay = 0.01;
  run(job(other));
  const Job fresh = job(easy_recipe(), "fresh");
  const Ran expected = run(fresh);
  const Ran after = run(job(easy_recipe()));
  EXPECT_EQ(bits(after.reports), bits(expected.reports));
  EXPECT_EQ(final_bits(job(easy_recipe())), final_bits(fresh));
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

// With the present data or others, and batches made ahead.
std::vector<std::uint32_t> bits_of(const Job& job, const DataConfig& from, std::string backend,
                                   int ahead) {
  Control control;
  const auto trainer =
      make_trainer(from, {.backend = std::move(backend), .batches_ahead = ahead}).value();
  const auto go_on = [](const EpochReport&) { return Verdict::kContinue; };
  EXPECT_EQ(trainer->evaluate(job, go_on, control)->end, Evaluation::End::kFinished);
  return final_bits(job);
}

TEST_P(Trainers, BatchesMadeAheadChangeNoBit) {
  EXPECT_EQ(bits_of(job(easy_recipe(), "ahead"), data(), GetParam(), 3),
            bits_of(job(easy_recipe(), "plain"), data(), GetParam(), 0));
}

// Other test images, and every label of theirs wrong.
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
    const auto keep = [&](const EpochReport& report) {
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

TEST_P(Trainers, ScoringTheKeptWeightsGivesTheReportedMetrics) {
  const Job one = job(easy_recipe());
  const Ran ran = run(one);
  const Dataset loaded = load_dataset(data()).value();
  const Weights weights = newest_checkpoint(one.folder, one.attempt).value()->state.weights;
  const Score validation =
      score(one.candidate.network, weights, loaded, Part::kValidation, GetParam()).value();
  EXPECT_EQ(validation.images, 80);
  EXPECT_EQ(validation.accuracy, metric(ran.reports.back(), "val_accuracy"));
  EXPECT_NEAR(validation.loss, metric(ran.reports.back(), "val_loss"), 1e-5);
  EXPECT_GE(score(one.candidate.network, weights, loaded, Part::kTest, GetParam())->accuracy, 0.95);
}

TEST_P(Trainers, ScoresTheAveragedWeightsAndKeepsThem) {
  Recipe recipe = easy_recipe();
  recipe.ema = 0.95;
  const Job one = job(recipe);
  const Ran ran = run(one);
  const TrainingState state = newest_checkpoint(one.folder, one.attempt).value()->state;
  const Dataset loaded = load_dataset(data()).value();
  const Score validation =
      score(one.candidate.network, scored_weights(state), loaded, Part::kValidation, GetParam())
          .value();
  EXPECT_NEAR(validation.loss, metric(ran.reports.back(), "val_loss"), 1e-5);
  EXPECT_NE(state.average[0].data, state.weights[0].data);
}

TEST_P(Trainers, LogitsOfManyImagesAreThoseOfEachAlone) {
  const Network network = small_network({1, 12, 12}, 4);
  const Weights weights = initial_weights(network, 3);
  const Dataset loaded = load_dataset(data()).value();
  const std::vector<float> images = normalised_images(loaded, {.first = 10, .count = 70});
  const std::vector<float> all = logits_of(network, weights, images, GetParam()).value();
  ASSERT_EQ(all.size(), 70u * 4);
  for (std::size_t i : {0u, 63u, 64u, 69u}) {
    const auto one = std::span(images).subspan(i * 144, 144);
    const std::vector<float> logits = logits_of(network, weights, one, GetParam()).value();
    for (std::size_t k = 0; k < 4; ++k) EXPECT_NEAR(logits[k], all[i * 4 + k], 1e-5);
  }
}

std::vector<std::string> backend_names() {
  std::vector<std::string> names;
  for (const BackendRow& row : backends()) names.emplace_back(row.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(EveryBackend, Trainers, testing::ValuesIn(backend_names()),
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
      job, [](const EpochReport&) { return Verdict::kContinue; }, control);
  ASSERT_TRUE(evaluation) << evaluation.error().message;
  EXPECT_EQ(evaluation->end, Evaluation::End::kFailed);
  EXPECT_EQ(evaluation->cause, Cause::kOutOfMemory);
}

TEST(Trainer, WeightsOfAnotherNetworkAreRefused) {
  const Network network = small_network({1, 12, 12}, 4);
  const Weights weights = initial_weights(small_network({1, 12, 12}, 5), 3);
  const std::vector<float> image(144);
  EXPECT_FALSE(fits(weights, network));
  EXPECT_FALSE(logits_of(network, weights, image, "reference"));
}

}  // namespace
}  // namespace detol
