// Tests that a training that is suspended anywhere, however often, ends with the bits of an
// uninterrupted one, once for every backend.

#include <memory>

#include <gtest/gtest.h>

#include "core/table.h"
#include "encodings/network/cost.h"
#include "tests/support/idx_writer.h"
#include "tests/support/temp_folder.h"
#include "tests/trainer/interrupting.h"
#include "tests/trainer/report_bits.h"
#include "tests/trainer/samples.h"
#include "tests/trainer/tested_backends.h"
#include "trainer/backends.h"
#include "trainer/checkpoint.h"
#include "trainer/data/formats/formats.h"
#include "trainer/train.h"

namespace detol {
namespace {

namespace fs = std::filesystem;
using testing_support::TempFolder;
using testing_support::write_idx;

constexpr std::int64_t kSteps = 5;    // of an epoch
constexpr std::int64_t kBatches = 2;  // of the validation part
constexpr int kEpochs = 2;

const Dataset& data() {
  static const Dataset loaded = [] {
    const TempFolder folder;
    write_idx(folder.path(), {.training = 200});
    return load_dataset({.format = "idx", .path = folder.path().string(), .validation = 0.2})
        .value();
  }();
  return loaded;
}

struct Ran {
  std::vector<EpochReport> reports;
  Evaluation evaluation;
};

class Suspensions : public testing::TestWithParam<std::string> {
 protected:
  Job job(std::string_view folder, std::vector<int> early_reports = {}) const {
    const Recipe recipe{.lr = 0.02,
                        .batch_size = 32,
                        .epochs = kEpochs,
                        .early_reports = std::move(early_reports),
                        .crop_padding = 1};
    Candidate candidate{.network = composite(4, {1, 12, 12}), .recipe = recipe, .cost = {}};
    candidate.cost = cost_of(candidate.network).value();
    return {.trial = 5,
            .seed = 11,
            .candidate = std::move(candidate),
            .folder = folder_.path() / folder};
  }

  // Trains; the trial is asked to suspend after `calls` of its steps and batches of validation.
  Ran run(const Job& job, std::int64_t calls = 1'000'000) const {
    const auto executable = find_row(backends(), GetParam())
                                ->compile(job.candidate.network, job.candidate.recipe, {})
                                .value();
    Control control;
    Interrupting interrupting(*executable, control, calls);
    Ran ran;
    const Reporter report = [&](const EpochReport& epoch, bool) {
      ran.reports.push_back(epoch);
      return Verdict::kContinue;
    };
    ran.evaluation = train({.job = job,
                            .recipe = job.candidate.recipe,
                            .data = data(),
                            .backend = GetParam(),
                            .executable = interrupting,
                            .group = alone(),
                            .control = control},
                           report)
                         .value();
    return ran;
  }

  // Makes the job the next attempt, with all reported epochs acknowledged.
  static void go_on(Job& job, const Ran& before) {
    ++job.attempt;
    if (!before.reports.empty()) job.acknowledged = before.reports.back().epochs();
  }

  TempFolder folder_;
};

std::vector<float> final_weights(const Job& job) {
  std::vector<float> all;
  const Checkpoint last = read_checkpoint(job.folder, kEpochs).value();
  for (const Tensor& tensor : last.state.weights)
    all.insert(all.end(), tensor.data.begin(), tensor.data.end());
  return all;
}

// Early reports after one and two of the five steps of the first epoch.
TEST_P(Suspensions, WhereverItIsSuspendedATrialEndsWithTheBitsOfAnUninterruptedOne) {
  const Job whole = job("whole", {2, 5});
  const std::vector<std::uint64_t> expected = bits(run(whole).reports);
  const Job plain = job("plain");
  run(plain);
  EXPECT_EQ(final_weights(whole), final_weights(plain));  // a report changes no weight
  for (std::int64_t calls = 0; calls < kEpochs * (kSteps + kBatches) + 2 * kBatches; ++calls) {
    Job cut = job("after" + std::to_string(calls), {2, 5});
    const Ran first = run(cut, calls);
    ASSERT_EQ(first.evaluation.end, Evaluation::End::kSuspended) << calls;
    go_on(cut, first);
    const Ran second = run(cut);
    ASSERT_EQ(second.evaluation.end, Evaluation::End::kFinished) << calls;
    std::vector<EpochReport> all = first.reports;
    all.insert(all.end(), second.reports.begin(), second.reports.end());
    EXPECT_EQ(bits(all), expected) << "suspended after " << calls;
    EXPECT_EQ(final_weights(cut), final_weights(whole)) << "suspended after " << calls;
  }
}

TEST_P(Suspensions, ATrialSuspendedManyTimesEndsWithTheSameBits) {
  const Job whole = job("whole");
  const std::vector<std::uint64_t> expected = bits(run(whole).reports);
  Job cut = job("cut");
  std::vector<EpochReport> all;
  for (;;) {
    const Ran ran = run(cut, 3);
    all.insert(all.end(), ran.reports.begin(), ran.reports.end());
    if (ran.evaluation.end == Evaluation::End::kFinished) break;
    go_on(cut, ran);
    ASSERT_LT(cut.attempt, 20) << "it makes no progress";
  }
  EXPECT_GT(cut.attempt, 3);
  EXPECT_EQ(bits(all), expected);
  EXPECT_EQ(final_weights(cut), final_weights(whole));
}

TEST_P(Suspensions, NoFinishedStepIsMadeAgain) {
  Job one = job("one");
  go_on(one, run(one, 3));
  const Checkpoint kept = *newest_checkpoint(one.folder, one.attempt).value();
  EXPECT_EQ(kept.epoch, 0);
  EXPECT_EQ(kept.progress.steps, 3);
  EXPECT_EQ(run(one, kSteps - 3).evaluation.end, Evaluation::End::kSuspended);
  ++one.attempt;
  EXPECT_EQ(newest_checkpoint(one.folder, one.attempt).value()->progress.steps, kSteps);
}

TEST_P(Suspensions, AnEpochTakesTheTimeOfAllItsParts) {
  Job one = job("one");
  const Ran first = run(one, 3);
  const double before_s = newest_checkpoint(one.folder, 1).value()->progress.train_s;
  EXPECT_GT(before_s, 0);
  EXPECT_EQ(first.evaluation.unreported_s, before_s) << "what it costs is in no report";
  go_on(one, first);
  EXPECT_GT(run(one).reports.front().train_s, before_s);
}

TEST_P(Suspensions, ADamagedPositionCostsTheEpochAndNoBit) {
  const Job whole = job("whole");
  const std::vector<EpochReport> expected = run(whole).reports;
  Job hurt = job("hurt");
  go_on(hurt, run(hurt, kSteps + kBatches + 2));
  testing_support::write_bytes(hurt.folder / "epoch-1-step-2.a1.ckpt", "DETOLCK1 but no more");
  EXPECT_EQ(bits(run(hurt).reports), bits(std::vector{expected[1]}));
  EXPECT_EQ(final_weights(hurt), final_weights(whole));
  EXPECT_TRUE(fs::exists(hurt.folder / "epoch-1-step-2.a1.ckpt.bad"));
}

TEST_P(Suspensions, AnOlderAttemptThatComesBackChangesNothing) {
  const Job whole = job("whole");
  const std::vector<EpochReport> expected = run(whole).reports;
  const Job older = job("shared");
  run(older, 2);
  Job newer = older;
  newer.attempt = 2;
  run(newer, kSteps + kBatches);
  run(older);  // to its end
  newer.attempt = 3;
  newer.acknowledged = 1;
  EXPECT_EQ(bits(run(newer).reports), bits(std::vector{expected[1]}));
  EXPECT_EQ(final_weights(newer), final_weights(whole));
}

INSTANTIATE_TEST_SUITE_P(EveryBackend, Suspensions, testing::ValuesIn(tested_backend_names()),
                         [](const auto& row) { return row.param; });

}  // namespace
}  // namespace detol
