#pragma once

// probe_cuda() lists this machine's devices in a process of its own: opening a device takes half a
// second and memory on it, and a broken driver may crash or hang its caller. Such effects end with
// that process.

#include <optional>

#include "core/result.h"
#include "trainer/backends/cuda/plugin.h"

namespace detol::inline trainer {

// Calls cuda_report() in a new process of this program, with the same CUDA_VISIBLE_DEVICES. Starts
// no process if there is no GPU library. Errors (kUsage): those of cuda_report(), or the process
// crashed or did not answer for a minute.
Result<CudaReport> probe_cuda();

// Runs that process and exits if these are its arguments, else returns nothing. For main().
std::optional<int> run_cuda_probe(int argc, char** argv);

}  // namespace detol::inline trainer
