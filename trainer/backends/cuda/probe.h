#pragma once

// probe_cuda() lists this machine's devices in a process of its own: looking at a device takes
// memory on it and half a second, and a driver that is broken ends whoever asks. All of that ends
// with that process.

#include <optional>

#include "core/result.h"
#include "trainer/backends/cuda/plugin.h"

namespace detol::inline trainer {

// Calls cuda_report() in this program, executed again; CUDA_VISIBLE_DEVICES holds as it is. Where
// this build has no GPU backend, the call costs nothing. Errors (kUsage): as there, or the process
// crashed or said nothing for a minute.
Result<CudaReport> probe_cuda();

// The exit code of that process; nothing if these are not its words. For main().
std::optional<int> run_cuda_probe(int argc, char** argv);

}  // namespace detol::inline trainer
