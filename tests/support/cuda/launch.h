#pragma once

// Launch: one grid of a kernel on the emulated device, block by block.

#include <driver_types.h>

#include <functional>

namespace detol::emulated {

// `thread` runs once per thread of the grid, when the stream gets there. Without
// `has_good_pointers` the device breaks then, as it does where a kernel is given host memory.
cudaError_t launch(const cudaLaunchConfig_t* config, bool has_good_pointers,
                   std::function<void()> thread);

// Null, in memory of the device, or in pinned memory of the host, or just behind it.
bool can_be_used_by_kernels(const void* pointer);

}  // namespace detol::emulated
