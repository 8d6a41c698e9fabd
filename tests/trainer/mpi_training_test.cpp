// Tests every backend's steps in a group of processes.

#include <cstring>

#include <gtest/gtest.h>

#include "bench/networks.h"
#include "tests/trainer/group_steps.h"
#include "tests/trainer/mpi_test.h"
#include "tests/trainer/tested_backends.h"
#include "trainer/backends.h"
#include "trainer/collectives/compression.h"

namespace detol {
namespace {

class GroupOf : public testing::TestWithParam<std::string> {};

TEST_P(GroupOf, ProcessesTakesTheStepsOfOneRankWithTheWholeBatch) {
  for (const char* optimizer : {"sgd", "adamw"}) {
    EXPECT_LE(apart_from_one_rank(GetParam(), without_norm(), shared_recipe(optimizer, false),
                                  {&ranks()}),
              1e-5)
        << optimizer;
    EXPECT_LE(
        apart_from_one_rank(GetParam(), composite(5), shared_recipe(optimizer, true), {&ranks()}),
        1e-5)
        << optimizer << " with synchronised batch norm";
  }
}

TEST_P(GroupOf, ProcessesDoesSoInMicroBatches) {
  EXPECT_LE(
      apart_from_one_rank(GetParam(), without_norm(), shared_recipe("sgd", false), {&ranks(), 2}),
      1e-5);
}

// Waiting is a group that finishes every sum before it returns.
class Waiting final : public Group {
 public:
  int rank() const override { return ranks().rank(); }
  int size() const override { return ranks().size(); }
  void sum(std::span<float> values) override { ranks().sum(values); }
  void sum(std::span<double> values) override { ranks().sum(values); }
  void sum(std::span<Half> values) override { ranks().sum(values); }
  void gather(std::span<const std::byte> own, std::span<std::byte> all) override {
    ranks().gather(own, all);
  }
  std::string share(std::string bytes, int from) override {
    return ranks().share(std::move(bytes), from);
  }
};

TEST_P(GroupOf, ProcessesChangesNoBitBySummingWhileItWorks) {
  Waiting waiting;
  for (const Network& network : {make_resnet({}), composite(5)}) {
    Recipe recipe = shared_recipe("sgd", true);
    recipe.batch_size = 5;
    if (GetParam() == "reference" && network.nodes().size() > 20) continue;  // slow
    const Steps waited = take_steps(GetParam(), network, recipe, {&waiting});
    const Steps overlapped = take_steps(GetParam(), network, recipe, {&ranks()});
    for (std::size_t i = 0; i < waited.states.back().weights.size(); ++i) {
      EXPECT_EQ(waited.states.back().weights[i].data, overlapped.states.back().weights[i].data);
    }
  }
}

TEST_P(GroupOf, ProcessesTakesNearlyTheSameStepsWithHalves) {
  Recipe recipe = shared_recipe("sgd", true);
  recipe.compression = "fp16";
  EXPECT_LE(apart_from_one_rank(GetParam(), composite(5), recipe, {&ranks()}), 1e-3);
  EXPECT_LE(apart_from_one_rank(GetParam(), without_norm(), recipe, {&ranks(), 2}), 1e-3);
}

TEST_P(GroupOf, ProcessesThatSendEveryElementTakesTheSameSteps) {
  Recipe recipe = shared_recipe("sgd", true);
  recipe.compression = "top_k";
  recipe.compression_share = 1;
  EXPECT_LE(apart_from_one_rank(GetParam(), composite(5), recipe, {&ranks()}), 1e-5);
}

TEST_P(GroupOf, ProcessesMakesTheUpdateOfAStepSoManyStepsLater) {
  Recipe recipe = shared_recipe("adamw", true);
  const Steps prompt = take_steps(GetParam(), without_norm(), recipe, {&ranks()});
  recipe.staleness = 2;
  const Steps late = take_steps(GetParam(), without_norm(), recipe, {&ranks()});
  for (std::size_t i = 0; i < prompt.states[0].weights.size(); ++i) {
    EXPECT_EQ(late.states[2].weights[i].data, late.states[0].weights[i].data);
    EXPECT_EQ(late.states[3].weights[i].data, prompt.states[1].weights[i].data);
  }
}

TEST_P(GroupOf, ProcessesGoesOnFromItsStateWithTheSameBits) {
  const Network network = without_norm();
  Recipe recipe = shared_recipe("sgd", false);
  recipe.compression = "top_k";
  recipe.compression_share = 0.1;
  recipe.staleness = 1;
  const Steps interrupted = take_steps(GetParam(), network, recipe, {&ranks()});
  const auto executable =
      find_row(backends(), GetParam())->compile(network, recipe, {&ranks()}).value();
  executable->set_state(interrupted.states[0]);
  const Dataset data = noise(network.input_shape(), 4, kSteps * recipe.batch_size);
  Batches batches(data, recipe, 3);
  batches.start_epoch(1);
  for (std::int64_t step = 0; step < kSteps; ++step) {
    batches.fill(step, executable->micro_batches()[0], executable->images(), executable->targets());
    executable->train_step({.lr = 0.01, .step = step, .seed = 17});
  }
  executable->share_state();
  const Weights found = executable->state().weights;
  for (std::size_t i = 0; i < found.size(); ++i)
    EXPECT_EQ(found[i].data, interrupted.states.back().weights[i].data) << found[i].name;
}

// Sums are sent from rank to rank and do not mix with what the leader shares.
TEST_P(GroupOf, ProcessesLetsARankBeSoManyStepsAhead) {
  Recipe recipe = shared_recipe("sgd", false);
  recipe.staleness = 3;
  const auto executable =
      find_row(backends(), GetParam())->compile(without_norm(), recipe, {&ranks()}).value();
  executable->set_state({lived_in_weights(without_norm(), 2), {}});
  fill_batch(*executable, 4, 1);
  if (ranks().rank() != 0) ranks().share("");
  for (std::int64_t step = 0; step < recipe.staleness; ++step)
    executable->train_step({.lr = 0.1, .step = step});
  if (ranks().rank() == 0) ranks().share("three steps");
  executable->share_state();
  EXPECT_EQ(executable->state().pending.size(), 3U);
}

TEST_P(GroupOf, ProcessesLeavesTheSameTrainableBitsOnEveryRank) {
  const Network network = composite(5);
  const std::vector<NetworkParameter> parameters = network.parameters();
  for (const CompressionRow& row : compressions()) {
    Recipe recipe = shared_recipe("sgd", false);
    recipe.compression = row.name;
    const Steps steps = take_steps(GetParam(), network, recipe, {&ranks()});
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (!parameters[i].spec.trainable) continue;
      const std::vector<float>& data = steps.states.back().weights[i].data;
      const std::string bytes(reinterpret_cast<const char*>(data.data()),
                              data.size() * sizeof(float));
      EXPECT_EQ(ranks().share(bytes), bytes) << parameters[i].name << " with " << row.name;
    }
  }
}

TEST_P(GroupOf, ProcessesValidatesWithTheLeadersStatistics) {
  const Network network = composite(5);
  const auto executable = find_row(backends(), GetParam())
                              ->compile(network, shared_recipe("sgd", false), {&ranks()})
                              .value();
  executable->set_state({lived_in_weights(network, 2), {}});
  fill_batch(*executable, 4, static_cast<std::uint64_t>(ranks().rank()));
  executable->accumulate({.lr = 0.1}, executable->micro_batches().front());
  executable->update({.lr = 0.1});
  executable->share_state();
  const Weights own = executable->state().weights;
  executable->share_statistics();
  const Weights shared = executable->state().weights;
  for (std::size_t i = 0; i < own.size(); ++i) {
    const std::string bytes(reinterpret_cast<const char*>(own[i].data.data()),
                            own[i].data.size() * sizeof(float));
    const std::string leaders = ranks().share(bytes);
    EXPECT_EQ(std::memcmp(shared[i].data.data(), leaders.data(), leaders.size()), 0) << own[i].name;
  }
}

// Shards differ by an image; the choices for the leader's shard hold for all ranks.
TEST_P(GroupOf, ProcessesComputesByTheSameChoices) {
  const BackendRow& row = *find_row(backends(), GetParam());
  if (row.list_algorithms == nullptr) GTEST_SKIP() << "has one algorithm for everything";
  Recipe recipe = shared_recipe("sgd", true);
  recipe.batch_size = 2 * ranks().size() + 1;
  const Network network = composite(5);
  AlgorithmChoices choices;
  const std::vector<AlgorithmCandidates> all =
      row.list_algorithms(network, recipe, {&ranks()}).value();
  for (const AlgorithmCandidates& open : all)
    choices.algorithms.emplace(open.key, open.algorithms.back());
  EXPECT_FALSE(choices.algorithms.empty());
  EXPECT_EQ(ranks().share(to_text(choices)), to_text(choices));
  EXPECT_LE(
      apart_from_one_rank(GetParam(), network, recipe, {.group = &ranks(), .choices = &choices}),
      1e-5);
}

INSTANTIATE_TEST_SUITE_P(Every, GroupOf, testing::ValuesIn(tested_backend_names()),
                         [](const auto& tested) { return tested.param; });

}  // namespace
}  // namespace detol
