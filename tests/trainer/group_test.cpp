// Tests how a batch is divided, and that a group takes the steps of one rank. The ranks are
// threads, the backend is the reference; mpi_training_test.cpp has processes.

#include <mutex>

#include <gtest/gtest.h>

#include "bench/networks.h"
#include "tests/support/thread_group.h"
#include "tests/trainer/group_steps.h"
#include "tests/trainer/tested_backends.h"
#include "trainer/agreement.h"
#include "trainer/backends/dropout.h"
#include "trainer/backends/placement.h"

namespace detol {
namespace {

using testing_support::on_ranks;

TEST(Group, EveryImageOfABatchIsInOneMicroBatchOfOneRank) {
  for (int size = 1; size <= 5; ++size) {
    for (std::int64_t batch = size; batch <= 17; ++batch) {
      for (int count = 1; count <= 6; ++count) {
        std::vector<int> times(static_cast<std::size_t>(batch));
        std::mutex mutex;
        on_ranks(size, [&](Group& group) {
          const std::vector<Shard> micro_batches = micro_batches_of(batch, {&group, count});
          const std::lock_guard lock(mutex);
          EXPECT_EQ(std::ssize(micro_batches), std::min<std::int64_t>(count, batch / size));
          for (const Shard& shard : micro_batches) {
            EXPECT_LE(shard.count, micro_batches.front().count);
            for (std::int64_t i = 0; i < shard.count; ++i) {
              ++times[static_cast<std::size_t>(shard.first + i)];
            }
          }
        });
        EXPECT_EQ(times, std::vector<int>(times.size(), 1)) << size << " " << batch;
      }
    }
  }
}

TEST(Group, AShardOfABatchIsWhatOneRankWouldSeeThere) {
  const Recipe recipe = shared_recipe("sgd", false);
  const Dataset data = noise({3, 8, 8}, 4, 40);
  Batches batches(data, recipe, 3);
  batches.start_epoch(2);
  std::vector<float> whole(11 * 192), part(4 * 192);
  std::vector<std::int32_t> labels(11), part_labels(4);
  batches.fill(1, {0, 11}, whole, {labels});
  batches.fill(1, {5, 4}, part, {part_labels});
  EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + 5 * 192));
  EXPECT_TRUE(std::equal(part_labels.begin(), part_labels.end(), labels.begin() + 5));
}

TEST(Dropout, AMaskOfAPartIsThatPartOfTheMask) {
  const Shape image{11, 2, 3};
  std::vector<float> whole(9 * 66);
  draw_dropout_mask({.seed = 3, .step = 4, .node = 5}, 0.4, image, whole);
  for (std::int64_t first : {0, 1, 2, 5}) {
    std::vector<float> part(4 * 66);
    draw_dropout_mask({.seed = 3, .step = 4, .node = 5, .first = first}, 0.4, image, part);
    EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + first * 66)) << first;
  }
}

TEST(Group, AStepIsThatOfOneRankWithTheWholeBatch) {
  for (const int size : {2, 3}) {
    for (const char* optimizer : {"sgd", "adamw"}) {
      on_ranks(size, [&](Group& group) {
        EXPECT_LE(apart_from_one_rank("reference", without_norm(), shared_recipe(optimizer, false),
                                      {&group}),
                  1e-5)
            << optimizer << " of " << size;
        EXPECT_LE(apart_from_one_rank("reference", composite(5), shared_recipe(optimizer, true),
                                      {&group}),
                  1e-5)
            << optimizer << " with synchronised batch norm, of " << size;
      });
    }
  }
}

TEST(MicroBatches, AddUpToTheWholeBatchWithoutBatchNorm) {
  for (const BackendRow& backend : tested_backends()) {
    for (const int micro_batches : {2, 4, 11, 100}) {
      EXPECT_LE(apart_from_one_rank(backend.name, without_norm(), shared_recipe("sgd", false),
                                    {&alone(), micro_batches}),
                1e-5)
          << backend.name << " in " << micro_batches;
    }
  }
}

// A fast backend's last micro-batch has fewer images than it was compiled for.
TEST(MicroBatches, ShowBatchNormTheirOwnImagesAlone) {
  const Recipe recipe = shared_recipe("sgd", false);
  const Steps wanted = take_steps("reference", composite(5), recipe, {&alone(), 3});
  const Steps found = take_steps("cpu", composite(5), recipe, {&alone(), 3}, &wanted);
  for (std::size_t step = 0; step < wanted.losses.size(); ++step) {
    EXPECT_NEAR(found.losses[step] / wanted.losses[step], 1, 1e-5);
    EXPECT_LE(apart(found.states[step + 1].weights, wanted.states[step + 1].weights,
                    wanted.states[step].weights),
              1e-4);
  }
}

TEST(MicroBatches, TakeLessMemory) {
  const Network network = make_resnet({});
  const Recipe recipe{.batch_size = 64};
  const auto bytes = [&](int micro_batches) {
    return fastest_tested().compile(network, recipe, {&alone(), micro_batches}).value()->bytes();
  };
  EXPECT_LT(bytes(4), bytes(1) / 3);
}

TEST(Agreement, TheFirstRanksFailureIsEverybodys) {
  const Job job;
  on_ranks(3, [&](Group& group) {
    const EarlyOutcome none = agree(std::nullopt, group);
    ASSERT_TRUE(none);
    EXPECT_FALSE(*none);
    const EarlyOutcome memory = agree(guarded(job,
                                              [&]() -> EarlyOutcome {
                                                if (group.rank() == 2) throw std::bad_alloc();
                                                return std::nullopt;
                                              }),
                                      group);
    ASSERT_TRUE(memory);
    EXPECT_EQ((*memory)->cause, Cause::kOutOfMemory);
    const EarlyOutcome error = agree(
        group.rank() == 0 ? EarlyOutcome() : fail(ErrorCode::kStorage, "no room\nfor it"), group);
    ASSERT_FALSE(error);
    EXPECT_EQ(error.error().code, ErrorCode::kStorage);
    EXPECT_EQ(error.error().message, "no room\nfor it");
  });
}

}  // namespace
}  // namespace detol
