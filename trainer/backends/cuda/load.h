#pragma once

// The GPU backend as the program sees it: a row of backends() whose functions are in a library that
// is loaded on first use. Safe to call from any thread.

#include <functional>
#include <memory>
#include <vector>

#include "trainer/backends/backend.h"
#include "trainer/backends/cuda/plugin.h"

namespace detol::inline trainer {

// Loads the library once per process. It is in the program's folder or in ../lib/detol beside that;
// DETOL_CUDA_LIBRARY is another path. Errors (kUsage), one line: this build has no library, there
// is no NVIDIA driver, no device, or a library that it needs is missing.
Result<const CudaPlugin*> cuda_plugin();

// Returns the devices and versions. Keeps memory on a device; probe.h avoids that. Errors as above.
Result<CudaReport> cuda_report();

// Returns true if there is a library to load; does not load it.
bool has_cuda_library();

// The functions of the backend's row, as in BackendRow.
Result<std::unique_ptr<Executable>> compile_cudnn(const Network& network, const Recipe& recipe,
                                                  const Placement& placement);
Result<std::vector<AlgorithmCandidates>> list_algorithms_cudnn(const Network& network,
                                                               const Recipe& recipe,
                                                               const Placement& placement);
Result<std::vector<TimedShape>> time_algorithms_cudnn(const Network& network, const Recipe& recipe,
                                                      const Placement& placement,
                                                      const std::function<void()>& on_progress);
// Returns why the backend cannot be used here; empty if it can.
std::string why_not_cudnn();

}  // namespace detol::inline trainer
