#pragma once

// Batch sharing: whether the ranks of a group can train on a batch together. A run refuses what
// cannot be shared before it starts, a trainer when it begins, a simulation likewise.

#include <cstdint>
#include <string>

#include "trainer/data/dataset.h"

namespace detol::inline trainer {

// Returns why ranks cannot share the batches of a training; empty if they can: each needs an image
// of every batch, which has at most all training images. No images: their number is not known.
std::string why_not_shared(const DatasetInfo& info, std::int64_t batch, int ranks);

}  // namespace detol::inline trainer
