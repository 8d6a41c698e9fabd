#pragma once

// `detol bench trainer|layers --device cuda`: a row per network or layer, its time beside its floor
// (bench/cuda.h).

#include "cli/commands.h"
#include "core/result.h"

namespace detol::inline cli {

// Errors (kUsage): there is no GPU to measure, this bench has nothing to do with one, or no name
// contains --only.
Result<int> bench_device(const Arguments& arguments);

}  // namespace detol::inline cli
