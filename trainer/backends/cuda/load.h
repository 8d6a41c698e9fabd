#pragma once

// The GPU backend as the program sees it: a row of backends() whose work is done by a library
// that is loaded when it is first asked for. Safe to call from any thread.

#include <functional>
#include <memory>
#include <vector>

#include "trainer/backends/backend.h"
#include "trainer/backends/cuda/plugin.h"

namespace detol::inline trainer {

// The library, loaded once per process. It lies beside the program, or in ../lib/detol of it;
// DETOL_CUDA_LIBRARY names another. Errors (kUsage), one line: this build has none, there is no
// NVIDIA driver, no device, or a library that it needs is missing.
Result<const CudaPlugin*> cuda_plugin();

// The devices and versions. Takes memory on a device; who shall not asks probe.h. Errors as above.
Result<CudaReport> cuda_report();

// True if there is a library to load: nothing of it is touched.
bool has_cuda_library();

// The backend's row.
Result<std::unique_ptr<Executable>> compile_cudnn(const Network& network, const Recipe& recipe,
                                                  const Placement& placement);
Result<std::vector<AlgorithmCandidates>> list_algorithms_cudnn(const Network& network,
                                                               const Recipe& recipe,
                                                               const Placement& placement);
Result<std::vector<TimedShape>> time_algorithms_cudnn(const Network& network, const Recipe& recipe,
                                                      const Placement& placement,
                                                      const std::function<void()>& on_progress);
// Why it cannot be used here; empty if it can.
std::string why_not_cudnn();

}  // namespace detol::inline trainer
