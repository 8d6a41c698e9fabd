// The training loop of a group. Its ranks are threads, the backend is the reference.

#include <gtest/gtest.h>

#include "core/table.h"
#include "encodings/network/cost.h"
#include "tests/support/idx_writer.h"
#include "tests/support/temp_folder.h"
#include "tests/support/thread_group.h"
#include "tests/trainer/interrupting.h"
#include "tests/trainer/report_bits.h"
#include "tests/trainer/samples.h"
#include "trainer/backends.h"
#include "trainer/checkpoint.h"
#include "trainer/data/formats/formats.h"
#include "trainer/train.h"

namespace detol {
namespace {

namespace fs = std::filesystem;
using testing_support::on_ranks;
using testing_support::TempFolder;
using testing_support::write_idx;

constexpr int kEpochs = 2;
constexpr std::int64_t kNever = 1'000'000;

// Ran holds the reports and the outcome of one rank's evaluation.
struct Ran {
  std::vector<EpochReport> reports;
  Result<Evaluation> evaluation = Evaluation{};
};

std::vector<float> final_weights(const Job& job) {
  std::vector<float> all;
  const Checkpoint last = read_checkpoint(job.folder, kEpochs).value();
  for (const Tensor& tensor : last.state.weights) {
    all.insert(all.end(), tensor.data.begin(), tensor.data.end());
  }
  return all;
}

class GroupTraining : public testing::Test {
 protected:
  GroupTraining() {
    write_idx(files_.path(), {.training = 200});
    config_ = {.format = "idx", .path = files_.path().string(), .validation = 0.2};
    data_ = load_dataset(config_).value();
  }

  Job job(std::string_view folder = "trial") const {
    const Recipe recipe{.lr = 0.02, .batch_size = 31, .epochs = kEpochs, .crop_padding = 1};
    Candidate candidate{.network = composite(4, {1, 12, 12}), .recipe = recipe, .cost = {}};
    candidate.cost = cost_of(candidate.network).value();
    return {.trial = 5,
            .seed = 11,
            .candidate = std::move(candidate),
            .folder = folder_.path() / folder};
  }

  // Runs the job on every rank; all ranks but the leader have a folder that cannot be written. The
  // leader is asked to suspend after `calls` of its steps and batches of validation, and its
  // reporter returns `verdict` after the first epoch.
  std::vector<Ran> run(const Job& leaders, int size, std::int64_t calls = kNever,
                       Verdict verdict = Verdict::kContinue) const {
    std::vector<Ran> ranks(static_cast<std::size_t>(size));
    on_ranks(size, [&](Group& group) {
      Job own = leaders;
      if (group.rank() != 0) own.folder = files_.path() / "train-labels-idx1-ubyte" / "nowhere";
      Ran& ran = ranks[static_cast<std::size_t>(group.rank())];
      const auto executable = find_row(backends(), "reference")
                                  ->compile(own.candidate.network, own.candidate.recipe, {&group})
                                  .value();
      Control control;
      Interrupting interrupting(*executable, control, group.rank() == 0 ? calls : kNever);
      const Reporter report = [&](const EpochReport& epoch, bool) {
        ran.reports.push_back(epoch);
        return epoch.epoch == 1 ? verdict : Verdict::kContinue;
      };
      ran.evaluation = train({.job = own,
                              .recipe = own.candidate.recipe,
                              .data = data_,
                              .backend = "reference",
                              .executable = interrupting,
                              .group = group,
                              .control = control},
                             report);
    });
    return ranks;
  }

  // Expects that a copy of the job on two ranks, suspended after so many calls and resumed, ends
  // with the reports and weights of `whole`.
  void expect_same_bits_suspended_after(const std::vector<std::int64_t>& all_calls,
                                        const Job& whole) const {
    const std::vector<std::uint64_t> expected = bits(run(whole, 2)[0].reports);
    for (const std::int64_t calls : all_calls) {
      Job cut = whole;
      cut.folder += "after" + std::to_string(calls);
      const std::vector<Ran> first = run(cut, 2, calls);
      for (const Ran& ran : first) ASSERT_EQ(ran.evaluation->end, Evaluation::End::kSuspended);
      cut.attempt = 2;
      cut.acknowledged = static_cast<int>(first[0].reports.size());
      const std::vector<Ran> second = run(cut, 2);
      std::vector<EpochReport> all = first[0].reports;
      all.insert(all.end(), second[0].reports.begin(), second[0].reports.end());
      EXPECT_EQ(bits(all), expected) << "suspended after " << calls;
      EXPECT_EQ(final_weights(cut), final_weights(whole)) << "suspended after " << calls;
    }
  }

  // Runs the job through the evaluator; `change` may edit a rank's data config.
  std::vector<Ran> evaluate(const Job& job, int size,
                            const std::function<void(int, DataConfig&)>& change = {}) const {
    std::vector<Ran> ranks(static_cast<std::size_t>(size));
    on_ranks(size, [&](Group& group) {
      DataConfig config = config_;
      if (change) change(group.rank(), config);
      const auto trainer = make_trainer(config, {.backend = "reference", .group = &group}).value();
      Ran& ran = ranks[static_cast<std::size_t>(group.rank())];
      Control control;
      const Reporter report = [&](const EpochReport& epoch, bool) {
        ran.reports.push_back(epoch);
        return Verdict::kContinue;
      };
      ran.evaluation = trainer->evaluate(job, report, control);
    });
    return ranks;
  }

  TempFolder files_, folder_;
  DataConfig config_;
  Dataset data_;
};

TEST_F(GroupTraining, TheLeaderAloneReportsAndKeepsCheckpoints) {
  const Job one = job();
  const std::vector<Ran> ranks = run(one, 3);
  for (const Ran& ran : ranks) EXPECT_EQ(ran.evaluation->end, Evaluation::End::kFinished);
  EXPECT_EQ(ranks[0].reports.size(), 2u);
  EXPECT_TRUE(ranks[1].reports.empty());
  EXPECT_TRUE(ranks[2].reports.empty());
  EXPECT_TRUE(newest_checkpoint(one.folder, 1).value());
  EXPECT_EQ(ranks[0].reports[1].work, static_cast<double>(one.candidate.cost.flops) * 2 * 5 * 31);
}

TEST_F(GroupTraining, SuspendedAnywhereATrialEndsWithTheBitsOfAnUninterruptedOne) {
  expect_same_bits_suspended_after({0, 3, 5, 6, 9}, job("whole"));
}

// An epoch has 5 steps.
TEST_F(GroupTraining, WhatRanksKeepBackOrHaveUnderWayOutlivesASuspension) {
  struct Sums {
    std::string compression;
    int staleness;
  };
  for (const Sums& sums : {Sums{"top_k", 0}, Sums{"none", 2}, Sums{"top_k", 3}}) {
    SCOPED_TRACE(sums.compression + std::to_string(sums.staleness));
    Job whole = job(sums.compression + std::to_string(sums.staleness));
    whole.candidate.recipe.compression = sums.compression;
    whole.candidate.recipe.compression_share = 0.1;
    whole.candidate.recipe.staleness = sums.staleness;
    expect_same_bits_suspended_after({1, 4, 6, 9}, whole);
  }
}

TEST_F(GroupTraining, AStaleCandidateThatDivergesEndsOnEveryRankWithTheStepThatDid) {
  Job wild = job();
  wild.candidate.recipe.lr = 1e12;
  wild.candidate.recipe.staleness = 2;
  std::string reason;
  for (const Ran& ran : evaluate(wild, 2)) {
    EXPECT_EQ(ran.evaluation->cause, Cause::kDiverged);
    if (reason.empty()) reason = ran.evaluation->reason;
    EXPECT_EQ(ran.evaluation->reason, reason);
  }
}

TEST_F(GroupTraining, AloneCompressionAndStalenessChangeNothing) {
  Job plain = job("plain"), other = job("other");
  other.candidate.recipe.compression = "top_k";
  other.candidate.recipe.staleness = 4;
  EXPECT_EQ(bits(evaluate(plain, 1)[0].reports), bits(evaluate(other, 1)[0].reports));
}

TEST_F(GroupTraining, TheLeadersVerdictIsEverybodys) {
  for (const Ran& ran : run(job(), 2, kNever, Verdict::kStop)) {
    EXPECT_EQ(ran.evaluation->end, Evaluation::End::kFinished);
  }
  for (const Ran& ran : run(job("other"), 2, kNever, Verdict::kSuspend)) {
    EXPECT_EQ(ran.evaluation->end, Evaluation::End::kSuspended);
  }
}

TEST_F(GroupTraining, ACheckpointThatTheLeaderCannotWriteIsEverybodysError) {
  testing_support::write_bytes(folder_.path() / "file", "");
  for (const Ran& ran : run(job("file"), 2)) {
    ASSERT_FALSE(ran.evaluation);
    EXPECT_EQ(ran.evaluation.error().code, ErrorCode::kStorage);
  }
}

TEST_F(GroupTraining, ARankWithoutItsDataIsEverybodysError) {
  const auto lost = [](int rank, DataConfig& config) {
    if (rank == 1) config.path = "/nowhere";
  };
  for (const Ran& ran : evaluate(job(), 2, lost)) {
    ASSERT_FALSE(ran.evaluation);
    EXPECT_NE(ran.evaluation.error().message.find("/nowhere"), std::string::npos);
  }
}

TEST_F(GroupTraining, ABatchOfFewerImagesThanRanksIsInvalid) {
  Job small = job();
  small.candidate.recipe.batch_size = 2;
  for (const Ran& ran : evaluate(small, 3)) {
    EXPECT_EQ(ran.evaluation->cause, Cause::kInvalid);
    EXPECT_EQ(ran.evaluation->reason, "a batch of 2 cannot be shared by the 3 ranks of a group");
  }
}

TEST_F(GroupTraining, ADivergedCandidateEndsOnEveryRank) {
  Job wild = job();
  wild.candidate.recipe.lr = 1e12;
  for (const Ran& ran : evaluate(wild, 2)) {
    EXPECT_EQ(ran.evaluation->end, Evaluation::End::kFailed);
    EXPECT_EQ(ran.evaluation->cause, Cause::kDiverged);
  }
}

TEST_F(GroupTraining, WithSynchronisedBatchNormTheNumbersAreThoseOfOneRank) {
  Job one = job("one");
  one.candidate.recipe.sync_batch_norm = true;
  Job two = one;
  two.folder = folder_.path() / "two";
  const std::vector<EpochReport> expected = evaluate(one, 1)[0].reports;
  const std::vector<EpochReport> shared = evaluate(two, 2)[0].reports;
  ASSERT_EQ(shared.size(), expected.size());
  for (std::size_t i = 0; i < expected.back().metrics.size(); ++i) {
    EXPECT_NEAR(shared.back().metrics[i].value, expected.back().metrics[i].value, 1e-3)
        << expected.back().metrics[i].name;
  }
}

}  // namespace
}  // namespace detol
