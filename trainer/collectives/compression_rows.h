#pragma once

// Factories of compressions() that are defined in other files. Private to this folder.

#include <cstddef>
#include <memory>
#include <span>

#include "trainer/collectives/compression.h"

namespace detol::inline trainer {

std::unique_ptr<BucketSum> make_top_k(const Recipe& recipe, Group& group, GradientBucket bucket,
                                      std::span<float> residual);
std::size_t top_k_bytes(const Recipe& recipe, std::size_t floats, int ranks);

}  // namespace detol::inline trainer
