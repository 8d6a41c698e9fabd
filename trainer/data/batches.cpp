#include "trainer/data/batches.h"

#include <cassert>

#include "trainer/data/shuffle.h"

namespace detol {
namespace {

// The seed's own streams belong to the initial weights.
constexpr std::uint64_t kBatchStream = 0x62617463686573;  // "batches"
constexpr std::uint64_t kCutoutStream = 0x637574;         // "cut": of an image's own stream

}  // namespace

Batches::Batches(const Dataset& data, const Recipe& recipe, std::uint64_t seed)
    : data_(data),
      normaliser_(data),
      batch_size_(recipe.batch_size),
      padding_(recipe.crop_padding),
      flip_(recipe.horizontal_flip),
      cutout_(recipe.cutout),
      trial_(Rng(seed).split(kBatchStream)),
      epoch_(trial_),
      order_(static_cast<std::size_t>(data.info.training)) {
  assert(batch_size_ >= 1 && batch_size_ <= data.info.training);
}

std::int64_t Batches::steps_per_epoch() const {
  return data_.info.training / batch_size_;
}

std::size_t Batches::image_size() const {
  return static_cast<std::size_t>(data_.info.task.input.elements());
}

void Batches::start_epoch(int epoch) {
  epoch_ = trial_.split(static_cast<std::uint64_t>(epoch));
  const std::size_t image_bytes = image_size() * (data_.has_bytes() ? 1 : sizeof(float));
  shuffle_images(epoch_.split(0), image_bytes, order_);
}

void Batches::fill(std::int64_t step, const Shard& part, std::span<float> images,
                   const Answers& answers) const {
  const std::size_t size = image_size();
  assert(part.first + part.count <= batch_size_);
  const auto first = static_cast<std::size_t>(step * batch_size_ + part.first);
  for (std::size_t i = 0; i < static_cast<std::size_t>(part.count); ++i) {
    data_.write_answer(order_[first + i], i, answers);
    write(first + i, images.subspan(i * size, size));
  }
}

void Batches::write(std::size_t position, std::span<float> out) const {
  const std::int64_t image = order_[position];
  const Rng own = epoch_.split(position + 1);
  if (padding_ == 0 && !flip_)
    normaliser_.write(data_, image, out);
  else
    normaliser_.write(data_, image, draw_window(own, padding_, flip_), out);
  if (cutout_ == 0) return;
  const Shape& shape = data_.info.task.input;
  hide(draw_square(own.split(kCutoutStream), shape, cutout_), shape, out);
}

}  // namespace detol
