#include "trainer/data/feed.h"

#include <array>
#include <vector>

#include <gtest/gtest.h>

namespace detol {
namespace {

Dataset forty_images() {
  Dataset data;
  data.info = {.task = {.input = {2, 3, 3}, .classes = 40}, .training = 40};
  for (int i = 0; i < 40 * 18; ++i) data.images.push_back(static_cast<std::uint8_t>(i * 7));
  for (int i = 0; i < 40; ++i) data.labels.push_back(i);
  data.mean = {0.5f, 0.25f};
  data.deviation = {0.5f, 0.125f};
  return data;
}

// FeedTest has batches of 8 images in two micro-batches, of 5 and of 3.
class FeedTest : public testing::Test {
 protected:
  struct MicroBatch {
    std::vector<float> images = std::vector<float>(5 * 18);
    std::vector<std::int32_t> labels = std::vector<std::int32_t>(5);
    std::vector<float> targets = std::vector<float>(5 * 40);
    std::vector<MixedLabel> mixes = std::vector<MixedLabel>(5);
    BatchTargets view() { return {labels, targets, mixes}; }
    friend bool operator==(const MicroBatch&, const MicroBatch&) = default;
  };

  std::vector<MicroBatch> rest_of(Feed& feed, int epoch, std::int64_t first_step) {
    feed.start_epoch(epoch, first_step);
    std::vector<MicroBatch> all;
    for (std::int64_t i = 2 * first_step; i < 2 * batches_.steps_per_epoch(); ++i) {
      MicroBatch micro_batch;
      feed.next(micro_batch.images, micro_batch.view());
      all.push_back(std::move(micro_batch));
    }
    return all;
  }

  const Dataset data_ = forty_images();
  const Recipe recipe_{
      .batch_size = 8, .crop_padding = 1, .horizontal_flip = true, .cutout = 1, .mixup = 1};
  Batches batches_{data_, recipe_, 1};
  const std::array<Shard, 2> micro_batches_{Shard{0, 5}, Shard{5, 3}};
};

TEST_F(FeedTest, GivesTheSamePartsHoweverManyAreMadeAhead) {
  Feed plain(batches_, micro_batches_, MicroBatch().view(), 0);
  const auto first = rest_of(plain, 1, 0), second = rest_of(plain, 2, 0);
  ASSERT_EQ(first.size(), 10u);
  EXPECT_NE(first, second);
  for (const int ahead : {1, 3, 40}) {
    Feed feed(batches_, micro_batches_, MicroBatch().view(), ahead);
    EXPECT_EQ(rest_of(feed, 1, 0), first) << ahead;
    EXPECT_EQ(rest_of(feed, 2, 0), second) << ahead;
  }
}

TEST_F(FeedTest, GoesOnInTheMiddleOfAnEpoch) {
  Feed feed(batches_, micro_batches_, MicroBatch().view(), 3);
  const auto all = rest_of(feed, 1, 0);
  const auto rest = rest_of(feed, 1, 2);
  EXPECT_EQ(rest, std::vector(all.begin() + 4, all.end()));
}

TEST_F(FeedTest, MayBeLeftInTheMiddleOfAnEpoch) {
  MicroBatch micro_batch;
  for (int i = 0; i < 50; ++i) {
    Feed feed(batches_, micro_batches_, MicroBatch().view(), 3);
    feed.start_epoch(1, 0);
    for (int taken = 0; taken < i % 5; ++taken) feed.next(micro_batch.images, micro_batch.view());
    if (i % 2 == 0) feed.start_epoch(2, 0);
  }
}

}  // namespace
}  // namespace detol
