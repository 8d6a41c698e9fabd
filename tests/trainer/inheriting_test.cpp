// Trials that begin with the weights of another one.

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "tests/trainer/report_bits.h"
#include "tests/trainer/trial_runs.h"
#include "trainer/backends.h"
#include "trainer/data/formats/formats.h"
#include "trainer/job_hash.h"

namespace detol {
namespace {

namespace fs = std::filesystem;

using testing_support::easy_recipe;
using testing_support::final_bits;
using testing_support::metric;
using testing_support::Ran;
using testing_support::TrialRuns;

class InheritingTrials : public TrialRuns {
 protected:
  // Trains a parent and returns a job whose folder has its checkpoint.
  Job heir(std::string_view folder) const {
    Job parent = job(easy_recipe(), "parent of " + std::string(folder));
    parent.trial = 2;
    run(parent);
    Job child = job(easy_recipe(), folder);
    child.seed = 12;
    child.parent = Parent{.trial = 2, .epochs = 4, .network = parent.candidate.network};
    fs::create_directories(child.folder);
    fs::rename(parent.folder, child.folder / kParentFolder);
    return child;
  }
};

TEST(DependsOnRanks, WhereGradientsAreChangedOrBatchNormSeesAPartOfABatch) {
  const auto candidate = [](LayerKind kind, const Recipe& recipe) {
    NetworkBuilder b({1, 8, 8});
    const NodeId conv = b.add({.kind = LayerKind::kConv, .channels = 4}, {b.input()});
    const NodeId pooled =
        b.add({.kind = LayerKind::kGlobalAvgPool}, {b.add({.kind = kind}, {conv})});
    Candidate made;
    made.network = b.build(b.add({.kind = LayerKind::kDense, .channels = 2}, {pooled})).value();
    made.recipe = recipe;
    return made;
  };
  using enum LayerKind;
  EXPECT_FALSE(depends_on_ranks(candidate(kLayerNorm, {})));
  EXPECT_TRUE(depends_on_ranks(candidate(kBatchNorm, {})));
  EXPECT_FALSE(depends_on_ranks(candidate(kBatchNorm, {.sync_batch_norm = true})));
  EXPECT_TRUE(depends_on_ranks(candidate(kLayerNorm, {.compression = "fp16"})));
  EXPECT_TRUE(depends_on_ranks(candidate(kLayerNorm, {.compression = "top_k"})));
  EXPECT_TRUE(depends_on_ranks(candidate(kLayerNorm, {.staleness = 1})));
}

TEST_P(InheritingTrials, BeginWhereTheirParentEnded) {
  Job child = heir("child"), own = job(easy_recipe(), "own");
  child.candidate.recipe.lr = own.candidate.recipe.lr = 1e-12;  // they stay where they begin
  const Ran ran = run(child);
  EXPECT_EQ(metric(ran.reports.at(0), kInheritedMetric), 1);
  EXPECT_LT(metric(ran.reports.at(0), "val_loss"), 1e-3);
  const Ran other = run(own);
  EXPECT_TRUE(std::isnan(metric(other.reports.at(0), kInheritedMetric)));
  EXPECT_GT(metric(other.reports.at(0), "val_loss"), 0.5);
}

// Its best weights are all zero: every class is as probable.
TEST_P(InheritingTrials, BeginWithTheBestWeightsOfTheirParent) {
  Job child = heir("child");
  child.candidate.recipe.lr = 1e-12;
  Checkpoint parent = read_checkpoint(child.folder / kParentFolder, 4).value();
  parent.best = parent.state.weights;
  for (Tensor& tensor : parent.best) std::ranges::fill(tensor.data, 0.0F);
  ASSERT_TRUE(write_checkpoint(child.folder / kParentFolder, parent));
  EXPECT_NEAR(metric(run(child).reports.at(0), "val_loss"), std::log(4.0), 1e-5);
}

TEST_P(InheritingTrials, InterruptedOnesEndWithTheBitsOfUninterruptedOnes) {
  const Job whole = heir("whole");
  const std::vector<EpochReport> expected = run(whole).reports;
  for (int stop = 1; stop <= 2; ++stop) {
    Job cut = heir("cut" + std::to_string(stop));
    std::vector<EpochReport> all = run(cut, stop, Verdict::kSuspend).reports;
    if (stop == 2) fs::remove_all(cut.folder / kParentFolder);  // no longer needed
    cut.acknowledged = stop;
    cut.attempt = 2;
    for (const EpochReport& report : run(cut).reports) all.push_back(report);
    EXPECT_EQ(bits(all), bits(expected));
    EXPECT_EQ(final_bits(cut), final_bits(whole));
  }
}

TEST_P(InheritingTrials, BeginAgainWithTheSameBitsIfTheirOwnCheckpointsAreLost) {
  const Job whole = heir("whole"), lost = heir("lost");
  run(whole);
  run(lost, 2, Verdict::kSuspend);
  remove_checkpoints(lost.folder, 0);
  run(lost);
  EXPECT_EQ(final_bits(lost), final_bits(whole));
}

// A parent that is of no use costs the trial nothing but a warning and a zero in its reports.
TEST_P(InheritingTrials, BeginWithTheirOwnWeightsIfTheParentsAreMissingDamagedOrOfAnother) {
  Job own = job(easy_recipe(), "own");
  own.seed = 12;
  const std::vector<EpochReport> expected = run(own).reports;
  for (const std::string trouble : {"missing", "damaged", "other"}) {
    Job child = heir(trouble);
    if (trouble == "missing") fs::remove_all(child.folder / kParentFolder);
    if (trouble == "other") child.parent->trial = 3;
    if (trouble == "damaged") {
      for (const auto& entry : fs::directory_iterator(child.folder / kParentFolder))
        fs::resize_file(entry.path(), 100);
    }
    const Ran ran = run(child);
    ASSERT_EQ(ran.reports.size(), expected.size()) << trouble;
    EXPECT_EQ(metric(ran.reports.back(), kInheritedMetric), 0) << trouble;
    EXPECT_EQ(metric(ran.reports.back(), "val_loss"), metric(expected.back(), "val_loss"));
    EXPECT_EQ(final_bits(child), final_bits(own)) << trouble;
  }
}

TEST_P(InheritingTrials, AreOtherJobsThanThoseThatInheritNothingOrFromOthers) {
  const Dataset data = load_dataset(testing_support::data()).value();
  Job child = job(easy_recipe());
  const std::uint64_t alone = hash_of(child, data, GetParam());
  child.parent = Parent{.trial = 2, .epochs = 4, .network = child.candidate.network};
  const std::uint64_t of_two = hash_of(child, data, GetParam());
  child.parent->epochs = 3;
  const std::uint64_t earlier = hash_of(child, data, GetParam());
  child.parent->arch_hash = 5;
  EXPECT_NE(alone, of_two);
  EXPECT_NE(of_two, earlier);
  EXPECT_NE(earlier, hash_of(child, data, GetParam()));
}

INSTANTIATE_TEST_SUITE_P(EveryBackend, InheritingTrials, testing::ValuesIn(tested_backend_names()),
                         [](const auto& row) { return row.param; });

// Checkpoints and identities of studies that the CPU trained when its backend was called onednn.
TEST(JobHash, IsThatOfTheFormerNameOfTheCpu) {
  NetworkBuilder builder({1, 2, 2});
  const NodeId last = builder.add({.kind = LayerKind::kDense, .channels = 2}, {builder.input()});
  const Candidate candidate{.network = builder.build(last).value(), .recipe = {}, .cost = {}};
  const Job job{.trial = 1, .seed = 2, .candidate = candidate, .folder = {}};
  const Dataset data;
  EXPECT_EQ(hash_of(job, data, "cpu"), hash_of(job, data, "onednn"));
  EXPECT_NE(hash_of(job, data, "cpu"), hash_of(job, data, "cudnn"));
  EXPECT_EQ(training_identity(candidate, 3, "cpu", {}),
            training_identity(candidate, 3, "onednn", {}));
  EXPECT_EQ(present_name("onednn"), "cpu");
  EXPECT_EQ(present_name("cudnn"), "cudnn");
}

}  // namespace
}  // namespace detol
