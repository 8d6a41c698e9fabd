// Tests what of a gradient is sent, what is kept back, and when an update uses it.

#include "trainer/collectives/gradient_sums.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "core/rng.h"
#include "core/table.h"
#include "encodings/network/network.h"
#include "encodings/study/study_config.h"
#include "tests/support/thread_group.h"
#include "trainer/backends.h"
#include "trainer/backends/program/rank_step.h"
#include "trainer/collectives/sum_traffic.h"

namespace detol {
namespace {

using testing_support::on_ranks;
using Floats = std::vector<float>;

Recipe top_of(double share) {
  return {.compression = "top_k", .compression_share = share};
}

// Returns the gradients of a step after their sum in one bucket.
Floats step_of(GradientSums& sums, Floats gradients) {
  sums.start_next(gradients);
  EXPECT_TRUE(sums.finish(gradients));
  return gradients;
}

TEST(TopK, SendsTheLargestAndAddsTheOthersToTheNextStep) {
  const GradientBucket all[] = {{0, 4}};
  GradientSums sums(top_of(0.25), alone(), all);
  EXPECT_EQ(step_of(sums, {4, 1, -2, 3}), (Floats{4, 0, 0, 0}));
  EXPECT_EQ(step_of(sums, {0, 1, -2, 0}), (Floats{0, 0, -4, 0}));
  EXPECT_EQ(step_of(sums, {0, 0, 0, 0}), (Floats{0, 0, 0, 3}));
  EXPECT_EQ(step_of(sums, {0, 0, 0, 0}), (Floats{0, 2, 0, 0}));
}

// The gradients are whole numbers, so that sums are exact.
TEST(TopK, WhatIsNotSentIsKept) {
  constexpr std::size_t kFloats = 1000;
  const GradientBucket all[] = {{0, kFloats}};
  GradientSums sums(top_of(0.013), alone(), all);
  Rng rng(1);
  Floats given(kFloats), sent(kFloats);
  for (int step = 0; step < 20; ++step) {
    Floats gradients(kFloats);
    for (std::size_t i = 0; i < kFloats; ++i) {
      gradients[i] = static_cast<float>(rng.below(200)) - 100;
      given[i] += gradients[i];
    }
    const Floats sum = step_of(sums, gradients);
    EXPECT_EQ(std::ranges::count_if(sum, [](float value) { return value != 0; }), 13);
    for (std::size_t i = 0; i < kFloats; ++i) sent[i] += sum[i];
  }
  sums.share();
  const Floats kept = sums.state().residuals.at(0);
  for (std::size_t i = 0; i < kFloats; ++i) EXPECT_EQ(sent[i] + kept[i], given[i]);
}

TEST(TopK, NoElementThatIsSentIsSmallerThanOneThatIsKept) {
  Rng rng(2);
  for (const std::size_t floats : {1u, 2u, 17u, 5000u}) {
    const GradientBucket all[] = {{0, floats}};
    GradientSums sums(top_of(0.1), alone(), all);
    Floats gradients(floats);
    for (float& gradient : gradients) gradient = static_cast<float>(rng.normal());
    const Floats sum = step_of(sums, gradients);
    float least = std::numeric_limits<float>::infinity(), most = 0;
    for (std::size_t i = 0; i < floats; ++i) {
      float& side = sum[i] != 0 ? least : most;
      side =
          sum[i] != 0 ? std::min(side, std::abs(sum[i])) : std::max(side, std::abs(gradients[i]));
    }
    EXPECT_LE(most, least) << floats;
  }
}

TEST(TopK, NothingThatIsNotFiniteStaysHidden) {
  const GradientBucket all[] = {{0, 4}};
  GradientSums sums(top_of(0.25), alone(), all);
  EXPECT_TRUE(std::isnan(step_of(sums, {1e30F, 1, std::nanf(""), 3})[2]));
}

TEST(TopK, OfEveryRankIsAddedUp) {
  on_ranks(3, [](Group& group) {
    const GradientBucket buckets[] = {{2, 2}, {0, 2}};
    GradientSums sums(top_of(0.5), group, buckets);
    const auto rank = static_cast<float>(group.rank());
    Floats gradients = {10 + rank, 1, rank - 1, 0.5F};
    sums.start_next(gradients);
    sums.start_next(gradients);
    EXPECT_TRUE(sums.finish(gradients));
    EXPECT_EQ(gradients, (Floats{33, 0, 0, 0.5F}));
  });
}

TEST(GradientSums, KeepNothingBackOfAResumedGroupOfAnotherSize) {
  const GradientBucket all[] = {{0, 2}};
  const SumsState state{{{1, 0}, {2, 0}, {4, 1}}, {}};
  on_ranks(2, [&](Group& group) {
    GradientSums sums(top_of(1), group, all);
    sums.set_state(state);
    EXPECT_EQ(step_of(sums, {0, 0}), (Floats{7, 1}));
  });
}

TEST(GradientSums, AnUpdateGoesByTheGradientOfSoManyStepsBefore) {
  const Recipe recipe{.staleness = 2};
  const GradientBucket all[] = {{0, 1}};
  on_ranks(2, [&](Group& group) {
    GradientSums sums(recipe, group, all);
    for (int step = 0; step < 7; ++step) {
      Floats gradients = {static_cast<float>(step)};
      sums.start_next(gradients);
      EXPECT_EQ(sums.finish(gradients), step >= 2);
      EXPECT_EQ(gradients[0], static_cast<float>(step >= 2 ? 2 * (step - 2) : step));
    }
  });
}

TEST(GradientSums, GoOnFromTheirState) {
  const Recipe recipe{.staleness = 2};
  const GradientBucket all[] = {{0, 1}};
  on_ranks(2, [&](Group& group) {
    SumsState state;
    for (int step = 0; step < 7; ++step) {
      GradientSums sums(recipe, group, all);
      sums.set_state(state);
      Floats gradients = {static_cast<float>(step)};
      sums.start_next(gradients);
      EXPECT_EQ(sums.finish(gradients), step >= 2);
      EXPECT_EQ(gradients[0], static_cast<float>(step >= 2 ? 2 * (step - 2) : step));
      sums.share();
      state = sums.state();
    }
  });
}

// Counts what rank 0 of so many ranks sends, and sends nothing.
class CountingGroup final : public Group {
 public:
  explicit CountingGroup(int ranks) : ranks_(ranks) {}

  std::size_t bytes = 0;

  int rank() const override { return 0; }
  int size() const override { return ranks_; }
  void sum(std::span<float> values) override { count(values); }
  void sum(std::span<double> values) override { count(values); }
  void sum(std::span<Half> values) override { count(values); }
  void gather(std::span<const std::byte> own, std::span<std::byte> all) override {
    bytes += bytes_sent_by_gather(own.size(), ranks_);
    std::ranges::fill(all, std::byte());
  }
  std::string share(std::string text, int) override { return text; }

 private:
  template <typename Real>
  void count(std::span<Real> values) {
    bytes += values_sent_by_sum(values.size(), ranks_) * sizeof(Real);
  }
  const int ranks_;
};

std::size_t bytes_of_step(const Recipe& recipe, std::size_t floats, int ranks) {
  CountingGroup group(ranks);
  const GradientBucket all[] = {{0, floats}};
  GradientSums sums(recipe, group, all);
  step_of(sums, Floats(floats, 1));
  return group.bytes;
}

// Buckets of a network's last biases, around each border, and of a large layer.
TEST(Compressions, NeverSendMoreThanPlainFloats) {
  for (const std::size_t floats :
       {1u, 2u, 100u, 1024u, 1025u, 8192u, 8193u, 32768u, 32769u, 65536u, 65537u, 300000u}) {
    for (int ranks = 2; ranks <= 64; ranks += ranks < 16 ? 1 : 8) {
      const std::size_t plain = bytes_of_step({}, floats, ranks);
      EXPECT_EQ(bytes_of_step({.compression = "fp16"}, floats, ranks) * 2, plain)
          << floats << " floats, " << ranks << " ranks";
      for (const double share : {0.001, 0.01, 0.1, 0.5, 1.0})
        EXPECT_LE(bytes_of_step(top_of(share), floats, ranks), plain)
            << floats << " floats, " << ranks << " ranks, share " << share;
    }
  }
}

TEST(Compressions, SendLessWhereTheyCan) {
  EXPECT_LT(bytes_of_step(top_of(0.01), 100000, 16), bytes_of_step({}, 100000, 16) / 5);
}

// What a sum in two rounds needs is twice the values, but for the rounding of parts.
TEST(SumTraffic, OfARoundIsLimitedForAnyNumberOfRanks) {
  for (int ranks = 2; ranks <= 1024; ranks *= 2) {
    const std::size_t most = kMostValuesOfARound / static_cast<std::size_t>(ranks);
    EXPECT_TRUE(is_one_round(most, ranks));
    EXPECT_FALSE(is_one_round(most + 1, ranks));
    EXPECT_LT(values_sent_by_sum(most, ranks), kMostValuesOfARound);
    EXPECT_LE(values_sent_by_sum(100000, ranks), 200000U + static_cast<unsigned>(ranks));
  }
}

// Three ranks send 8 bytes for each entry to two others; all four floats in one round are as many
// as two entries, so that two are sent, and of three all.
TEST(TopK, SendsEverythingWhereEntriesWouldBeMore) {
  on_ranks(3, [](Group& group) {
    const GradientBucket all[] = {{0, 4}};
    GradientSums sums(top_of(0.75), group, all);
    sums.set_state({{{1, 0, 0, 0}}, {}});
    EXPECT_EQ(step_of(sums, {1, 2, 3, 4}), (Floats{4, 6, 9, 12}));
    EXPECT_EQ(step_of(sums, {0, 0, 0, 0}), (Floats{0, 0, 0, 0}));
    GradientSums of_half(top_of(0.5), group, all);
    EXPECT_EQ(step_of(of_half, {1, 2, 3, 4}), (Floats{0, 0, 9, 12}));
  });
}

TEST(Compressions, AreTheWordsOfTheSpaceFile) {
  for (const CompressionRow& row : compressions()) {
    const std::string file =
        "version: 1\nstudy: s\ndata: {format: idx, path: /d}\n"
        "architecture: {type: chain, stages: [{block: {op: conv}}]}\n"
        "training: {epochs: 1, compression: " +
        std::string(row.name) + "}\nobjectives: [{metric: val_loss, direction: minimize}]\n";
    EXPECT_TRUE(load_study_config(file, "s.yaml")) << row.name;
  }
}

TEST(RankStep, UpdatesWithTheSettingsOfTheStepThatMadeTheGradients) {
  const Recipe recipe{.staleness = 2};
  const GradientBucket all[] = {{0, 1}};
  on_ranks(2, [&](Group& group) {
    program::RankStep ranks(recipe, group, all);
    for (std::int64_t step = 0; step < 7; ++step) {
      Floats gradients = {1};
      const auto of_gradients = ranks.finish(gradients, {.lr = 0.1, .step = step});
      ASSERT_EQ(of_gradients.has_value(), step >= 2);
      if (of_gradients) EXPECT_EQ(of_gradients->step, step - 2);
    }
  });
}

TEST(RankStep, SharesTheStatisticsOfTheFirstRank) {
  NetworkBuilder builder({2, 3, 3});
  NodeId x = builder.add({.kind = LayerKind::kBatchNorm}, {builder.input()});
  x = builder.add({.kind = LayerKind::kGlobalAvgPool}, {x});
  const Network network =
      builder.build(builder.add({.kind = LayerKind::kDense, .channels = 2}, {x})).value();
  on_ranks(2, [&](Group& group) {
    const auto executable =
        find_row(backends(), "cpu")->compile(network, {.batch_size = 4}, {.group = &group}).value();
    TrainingState state = executable->state();
    for (Tensor& tensor : state.weights)
      std::ranges::fill(tensor.data, static_cast<float>(group.rank() + 1));
    executable->set_state(state);
    executable->share_statistics();
    for (const Tensor& tensor : executable->state().weights) {
      const bool is_shared = tensor.name.find("running") != std::string::npos;
      EXPECT_EQ(tensor.data.front(), is_shared ? 1 : group.rank() + 1) << tensor.name;
    }
  });
}

}  // namespace
}  // namespace detol
