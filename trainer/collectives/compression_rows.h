#pragma once

// The rows of compressions() that have a file of their own. Private to this folder.

#include <memory>
#include <span>

#include "trainer/collectives/compression.h"

namespace detol::inline trainer {

std::unique_ptr<BucketSum> make_top_k(const Recipe& recipe, Group& group, GradientBucket bucket,
                                      std::span<float> residual);

}  // namespace detol::inline trainer
