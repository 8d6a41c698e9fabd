#pragma once

// Shuffle: in which order an epoch looks at the training images. A function of the stream, the
// number of images and their size alone, never of the machine: a trial's numbers must not depend
// on where it runs, nor on whether its data are packed.
//
// Up to 16 GiB of training pixels it is one permutation of all images, every one as likely. Above,
// such an order would fetch every image from the disk by itself: blocks are permuted instead, and
// then the images within each window of 1024 blocks (1 GiB), so that what an epoch looks at within
// a short time lies in a window that fits into memory, and the disk is read in whole blocks. The
// images of a block are no neighbours of the original files: the split has permuted them (split.h).

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/rng.h"

namespace detol::inline trainer {

// Returns how many images of this size a block holds: as many as fit into 1 MiB, at least one.
std::size_t block_images(std::size_t image_bytes);

struct ShuffleBounds {
  std::uint64_t whole_bytes = std::uint64_t{16} << 30;  // of all pixels; above, windows
  std::size_t window_blocks = 1024;
};

// Fills `order` with 0 .. order.size() - 1.
void shuffle_images(Rng rng, std::size_t image_bytes, std::span<std::int64_t> order,
                    const ShuffleBounds& bounds = {});

}  // namespace detol::inline trainer
