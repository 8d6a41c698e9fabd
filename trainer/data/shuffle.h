#pragma once

// Shuffle: the order in which an epoch reads the training images. It depends only on the random
// stream, the number of images and their size, not on the machine: a trial's numbers must not
// depend on where it runs, nor on whether its data are packed.
//
// Up to 16 GiB of training pixels it is a uniform permutation of all images. Above, that would be
// one random disk read per image: blocks are permuted instead, and then the images within each
// window of 1024 blocks (1 GiB), so that an epoch reads from one window at a time, which fits into
// memory, and the disk is read in whole blocks. The images of a block are not neighbours in the
// original files: the split has permuted them (split.h).

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/rng.h"

namespace detol::inline trainer {

// Returns how many images of this size a block holds: as many as fit into 1 MiB, at least one.
std::size_t block_images(std::size_t image_bytes);

struct ShuffleBounds {
  std::uint64_t whole_bytes = std::uint64_t{16} << 30;  // of all pixels; windows if more
  std::size_t window_blocks = 1024;
};

// Fills `order` with a permutation of 0 .. order.size() - 1.
void shuffle_images(Rng rng, std::size_t image_bytes, std::span<std::int64_t> order,
                    const ShuffleBounds& bounds = {});

}  // namespace detol::inline trainer
