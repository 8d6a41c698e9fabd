#include "trainer/data/feed.h"

#include <algorithm>
#include <cassert>
#include <system_error>

namespace detol::inline trainer {

Feed::Feed(Batches& batches, std::span<const Shard> micro_batches, const BatchTargets& like,
           int ahead)
    : batches_(batches), micro_batches_(micro_batches), slots_(static_cast<std::size_t>(ahead)) {
  for (const Shard& shard : micro_batches)
    most_ = std::max(most_, static_cast<std::size_t>(shard.count));
  for (Slot& slot : slots_) {
    slot.images.resize(most_ * batches.image_size());
    slot.labels.resize(like.labels.size());
    slot.targets.resize(like.targets.size());
    slot.mixes.resize(like.mixes.size());
  }
}

Feed::~Feed() {
  stop();
}

void Feed::stop() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  took_one_.notify_one();
  if (maker_.joinable()) maker_.join();
}

void Feed::start_epoch(int epoch, std::int64_t first_step) {
  stop();
  batches_.start_epoch(epoch);
  first_step_ = first_step;
  end_ = (batches_.steps_per_epoch() - first_step) * std::ssize(micro_batches_);
  made_ = taken_ = 0;
  stop_ = false;
  if (slots_.empty()) return;
  try {
    maker_ = std::thread([this] { make_all(); });
  } catch (const std::system_error&) {
    slots_.clear();  // without a thread, next() makes the batches itself
  }
}

const Shard& Feed::shard_at(std::int64_t number) const {
  return micro_batches_[static_cast<std::size_t>(number % std::ssize(micro_batches_))];
}

void Feed::make(std::int64_t number, std::span<float> images, const BatchTargets& targets) const {
  batches_.fill(first_step_ + number / std::ssize(micro_batches_), shard_at(number), images,
                targets);
}

void Feed::make_all() {
  for (std::int64_t number = 0; number < end_; ++number) {
    {
      std::unique_lock lock(mutex_);
      took_one_.wait(lock, [&] { return stop_ || number - taken_ < std::ssize(slots_); });
      if (stop_) return;
    }
    Slot& slot = slots_[static_cast<std::size_t>(number % std::ssize(slots_))];
    make(number, slot.images, slot.view());
    {
      const std::lock_guard lock(mutex_);
      made_ = number + 1;
    }
    made_one_.notify_one();
  }
}

void Feed::next(std::span<float> images, const BatchTargets& targets) {
  assert(taken_ < end_);
  if (slots_.empty()) return make(taken_++, images, targets);
  {
    std::unique_lock lock(mutex_);
    made_one_.wait(lock, [&] { return made_ > taken_; });
  }
  // Only this thread writes taken_, so it may read it without the lock.
  const Slot& slot = slots_[static_cast<std::size_t>(taken_ % std::ssize(slots_))];
  const auto count = static_cast<std::size_t>(shard_at(taken_).count);
  std::copy_n(slot.images.begin(), count * batches_.image_size(), images.begin());
  const auto copy = [&](const auto& all, const auto& to) {
    std::copy_n(all.begin(), all.size() / most_ * count, to.begin());
  };
  copy(slot.labels, targets.labels);
  copy(slot.targets, targets.targets);
  copy(slot.mixes, targets.mixes);
  {
    const std::lock_guard lock(mutex_);
    ++taken_;
  }
  took_one_.notify_one();
}

}  // namespace detol::inline trainer
