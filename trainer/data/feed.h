#pragma once

// Feed: the parts of an epoch's batches one after the other, as the training asks for them. With
// `ahead` > 0 a thread of the feed's own makes them, up to so many before they are asked for; what
// is in them depends on (seed, epoch, position) alone, never on who made them or when. Both sides
// sleep while they wait. One training thread; its calls allocate only when an epoch starts.

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "trainer/data/answers.h"
#include "trainer/data/batches.h"
#include "trainer/data/shard.h"

namespace detol {

class Feed {
 public:
  // `parts`: what is trained of every batch, in this order. Both outlive the feed. `like`: answers
  // of the largest part, of which next() will be given the same spans.
  Feed(Batches& batches, std::span<const Shard> parts, const Answers& like, int ahead);
  ~Feed();  // also in the middle of an epoch
  Feed(const Feed&) = delete;
  Feed& operator=(const Feed&) = delete;

  // Epochs count from 1, steps from 0.
  void start_epoch(int epoch, std::int64_t first_step);

  // The next part. REQUIRES: the epoch has one more; the spans have room for the largest.
  void next(std::span<float> images, const Answers& answers);

 private:
  struct Slot {
    std::vector<float> images;
    std::vector<std::int32_t> labels;
    std::vector<float> targets;
    std::vector<MixedLabel> mixes;
    Answers answers() { return {labels, targets, mixes}; }
  };

  void make_all();
  void make(std::int64_t number, std::span<float> images, const Answers& answers) const;
  const Shard& part_of(std::int64_t number) const;
  void stop();

  Batches& batches_;
  const std::span<const Shard> parts_;
  std::size_t most_ = 0;         // images of a part
  std::int64_t first_step_ = 0;  // of the started epoch; parts are numbered from there
  std::int64_t end_ = 0;         // parts of the epoch

  std::vector<Slot> slots_;  // a ring: part i in slot i % size; empty: nothing is made ahead
  std::mutex mutex_;         // guards what follows
  std::condition_variable made_one_, took_one_;
  std::int64_t made_ = 0, taken_ = 0;  // the slots of taken_ .. made_ - 1 are the training's
  bool stop_ = false;
  std::thread maker_;
};

}  // namespace detol
