#pragma once

// `detol bench trainer|layers --device cuda`: one row per network or layer with its time and floor
// (bench/cuda.h).

#include "command_line/command.h"
#include "core/result.h"

namespace detol::inline bench {

// Runs the bench. Errors (kUsage): there is no usable GPU, this bench does not measure GPUs, or no
// name contains --only.
Result<int> bench_device(const Arguments& arguments);

}  // namespace detol::inline bench
