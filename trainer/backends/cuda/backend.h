#pragma once

// The functions of the backend behind CudaPlugin. They throw std::bad_alloc and DeviceError;
// plugin_entry.cpp converts a DeviceError to a Result. Private to this folder.

#include <functional>
#include <memory>
#include <vector>

#include "trainer/backends/backend.h"

namespace detol::inline trainer::cuda {

Result<std::unique_ptr<Executable>> compile(const Network& network, const Recipe& recipe,
                                            const Placement& placement);
Result<std::vector<AlgorithmCandidates>> list_algorithms(const Network& network,
                                                         const Recipe& recipe,
                                                         const Placement& placement);
Result<std::vector<TimedShape>> time_algorithms(const Network& network, const Recipe& recipe,
                                                const Placement& placement,
                                                const std::function<void()>& on_progress);

}  // namespace detol::inline trainer::cuda
