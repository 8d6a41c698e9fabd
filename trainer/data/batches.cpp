#include "trainer/data/batches.h"

#include <cassert>
#include <utility>

#include "trainer/data/class_weights.h"
#include "trainer/data/mixup.h"
#include "trainer/data/shuffle.h"

namespace detol::inline trainer {
namespace {

// Streams of the seed that do not collide with those of the initial weights (0, 1, ...).
constexpr std::uint64_t kBatchStream = 0x62617463686573;  // "batches"
constexpr std::uint64_t kCutoutStream = 0x637574;         // "cut": within an image's stream
constexpr std::uint64_t kMixupStream = 0x6d6978;          // "mix": likewise

// Returns the targets of one image of a batch.
BatchTargets targets_of(const BatchTargets& all, std::size_t image, std::size_t outputs) {
  const auto targets = all.targets.empty() ? 0 : outputs;
  return {.targets = all.targets.subspan(image * targets, targets),
          .mixes = all.mixes.empty() ? all.mixes : all.mixes.subspan(image, 1)};
}

}  // namespace

Batches::Batches(const Dataset& data, const Recipe& recipe, std::uint64_t seed)
    : data_(data),
      normaliser_(data),
      batch_size_(recipe.batch_size),
      padding_(recipe.crop_padding),
      flip_(recipe.horizontal_flip),
      cutout_(recipe.cutout),
      mixup_(recipe.mixup),
      class_weights_(class_weights_of(recipe, data)),
      trial_(Rng(seed).split(kBatchStream)),
      epoch_(trial_),
      order_(static_cast<std::size_t>(data.info.training)),
      partner_(mixup_ > 0 ? image_size() : 0),
      partner_targets_(mixup_ > 0 ? static_cast<std::size_t>(data.info.task.classes) : 0) {
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

EpochImage Batches::image_at(std::size_t position) const {
  const Rng own = epoch_.split(position + 1);
  EpochImage image{.image = static_cast<std::int32_t>(order_[position])};
  if (padding_ > 0 || flip_) {
    const Window window = draw_window(own, padding_, flip_);
    image.down = static_cast<std::int32_t>(window.down);
    image.right = static_cast<std::int32_t>(window.right);
    image.mirrored = window.mirrored ? 1 : 0;
  }
  if (cutout_ > 0) {
    const Square square = draw_square(own.split(kCutoutStream), data_.info.task.input, cutout_);
    image.top = static_cast<std::int32_t>(square.top);
    image.left = static_cast<std::int32_t>(square.left);
  }
  if (mixup_ > 0) {
    const Mix mix = draw_mix(own.split(kMixupStream), mixup_, batch_size_);
    image.partner = static_cast<std::int32_t>(mix.partner);
    image.share = mix.share;
  }
  return image;
}

std::span<const EpochImage> Batches::images_of(int epoch) {
  if (std::exchange(drawn_epoch_, epoch) == epoch) return drawn_;
  start_epoch(epoch);
  drawn_.clear();
  const auto end = static_cast<std::size_t>(steps_per_epoch() * batch_size_);
  for (std::size_t position = 0; position < end; ++position) drawn_.push_back(image_at(position));
  return drawn_;
}

void Batches::fill(std::int64_t step, const Shard& shard, std::span<float> images,
                   const BatchTargets& targets) {
  const std::size_t size = image_size();
  const auto outputs = static_cast<std::size_t>(data_.info.task.classes);
  assert(shard.first + shard.count <= batch_size_);
  const auto batch = static_cast<std::size_t>(step * batch_size_);
  const std::size_t first = batch + static_cast<std::size_t>(shard.first);
  for (std::size_t i = 0; i < static_cast<std::size_t>(shard.count); ++i) {
    const EpochImage image = image_at(first + i);
    const std::span<float> out = images.subspan(i * size, size);
    const BatchTargets own = targets_of(targets, i, outputs);
    data_.write_targets(image.image, i, targets);
    weigh(class_weights_, data_, image.image, own.targets);
    write(image, out);
    if (mixup_ > 0) mix(batch, image, out, own);
  }
}

// Blends an image with its partner, which is cropped, mirrored and cut out as at its own position.
void Batches::mix(std::size_t first, const EpochImage& own, std::span<float> image,
                  const BatchTargets& targets) {
  const EpochImage partner = image_at(first + static_cast<std::size_t>(own.partner));
  write(partner, partner_);
  blend(image, partner_, own.share);
  const BatchTargets other{.labels = {&partner_label_, 1},
                           .targets = std::span(partner_targets_).first(targets.targets.size())};
  data_.write_targets(partner.image, 0, other);
  weigh(class_weights_, data_, partner.image, other.targets);
  blend(targets.targets, other.targets, own.share);
  if (!targets.mixes.empty()) targets.mixes[0] = {partner_label_, own.share};
}

void Batches::write(const EpochImage& image, std::span<float> out) const {
  const Window window{image.down, image.right, image.mirrored != 0};
  if (padding_ == 0 && !flip_)
    normaliser_.write(data_, image.image, out);
  else
    normaliser_.write(data_, image.image, window, out);
  if (cutout_ == 0) return;
  hide({.top = image.top, .left = image.left, .size = cutout_}, data_.info.task.input, out);
}

}  // namespace detol::inline trainer
