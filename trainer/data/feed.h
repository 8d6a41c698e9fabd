#pragma once

// Feed hands out the micro-batches of an epoch one after the other, as a data loader does. With
// `ahead` > 0 a separate thread prefetches up to that many; their contents depend only on (seed,
// epoch, position), not on the thread or the time. Both threads sleep while they wait. One training
// thread; its calls allocate only when an epoch starts.

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "trainer/data/batch_targets.h"
#include "trainer/data/batches.h"
#include "trainer/data/shard.h"

namespace detol::inline trainer {

class Feed {
 public:
  // `micro_batches` lists what is trained of every batch, in this order. `micro_batches` and
  // `batches` outlive the feed. `like` has spans of the same sizes as next() will get, for the
  // largest micro-batch.
  Feed(Batches& batches, std::span<const Shard> micro_batches, const BatchTargets& like, int ahead);
  ~Feed();  // may run in the middle of an epoch
  Feed(const Feed&) = delete;
  Feed& operator=(const Feed&) = delete;

  // Starts an epoch at `first_step`. Epochs count from 1, steps from 0.
  void start_epoch(int epoch, std::int64_t first_step);

  // Writes the next micro-batch. REQUIRES: the epoch has one more; the spans fit the largest.
  void next(std::span<float> images, const BatchTargets& targets);

 private:
  struct Slot {
    std::vector<float> images;
    std::vector<std::int32_t> labels;
    std::vector<float> targets;
    std::vector<MixedLabel> mixes;
    BatchTargets view() { return {labels, targets, mixes}; }
  };

  void make_all();
  void make(std::int64_t number, std::span<float> images, const BatchTargets& targets) const;
  const Shard& shard_at(std::int64_t number) const;
  void stop();

  Batches& batches_;
  const std::span<const Shard> micro_batches_;
  std::size_t most_ = 0;         // images of the largest micro-batch
  std::int64_t first_step_ = 0;  // of the started epoch; micro-batches count from there
  std::int64_t end_ = 0;         // micro-batches of the epoch

  std::vector<Slot> slots_;  // a ring: micro-batch i in slot i % size; empty: no prefetching
  std::mutex mutex_;         // guards made_, taken_ and stop_
  std::condition_variable made_one_, took_one_;
  std::int64_t made_ = 0, taken_ = 0;  // slots of taken_ .. made_ - 1 are ready to be read
  bool stop_ = false;
  std::thread maker_;
};

}  // namespace detol::inline trainer
