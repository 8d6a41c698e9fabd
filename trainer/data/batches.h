#pragma once

// Batches: the training images of one trial in the order, crops, flips, cutouts and mixtures of
// each epoch. Everything is drawn from (trial seed, epoch, position in the epoch), so an epoch is
// the same whether or not its predecessors were trained in this process, and a shard of a batch
// does not depend on how the rest is divided. A last incomplete batch is dropped. Allocates only in
// the constructor and images_of(); reads the data set, which must outlive it. Not thread-safe.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/rng.h"
#include "encodings/study/recipe.h"
#include "trainer/data/augment.h"
#include "trainer/data/batch_targets.h"
#include "trainer/data/dataset.h"
#include "trainer/data/epoch_image.h"
#include "trainer/data/shard.h"

namespace detol::inline trainer {

class Batches {
 public:
  // REQUIRES: 1 <= recipe.batch_size <= data.info.training.
  Batches(const Dataset& data, const Recipe& recipe, std::uint64_t seed);

  std::int64_t steps_per_epoch() const;
  std::size_t image_size() const;  // numbers of one image

  // Shuffles the images for an epoch. Epochs count from 1.
  void start_epoch(int epoch);

  // Writes a shard of batch `step` of the started epoch, counted from 0; the rest of the spans is
  // not changed.
  void fill(std::int64_t step, const Shard& shard, std::span<float> images,
            const BatchTargets& targets);

  // Returns the images of all batches of an epoch with their draws, for a device that makes the
  // batches. The first call for an epoch starts it and draws; the result is valid until a call for
  // another. Allocates.
  std::span<const EpochImage> images_of(int epoch);

 private:
  EpochImage image_at(std::size_t position) const;
  void write(const EpochImage& image, std::span<float> out) const;
  void mix(std::size_t first, const EpochImage& own, std::span<float> image,
           const BatchTargets& targets);

  const Dataset& data_;
  Normaliser normaliser_;
  std::int64_t batch_size_;
  int padding_;
  bool flip_;
  int cutout_;
  double mixup_;
  std::vector<float> class_weights_;
  Rng trial_;
  Rng epoch_;
  std::vector<std::int64_t> order_;  // of all training images, in this epoch

  int drawn_epoch_ = 0;
  std::vector<EpochImage> drawn_;  // of drawn_epoch_

  std::vector<float> partner_;  // scratch: a mixed-in image and its targets
  std::int32_t partner_label_ = 0;
  std::vector<float> partner_targets_;
};

}  // namespace detol::inline trainer
