#pragma once

// Launch: one grid of a kernel on the emulated device, block by block.

#include <driver_types.h>

#include <functional>

namespace detol::emulated {

// `thread` runs once per thread of the grid, when the stream reaches it. Without
// `has_good_pointers` the device breaks then, as it does where a kernel is given host memory.
cudaError_t launch(const cudaLaunchConfig_t* config, bool has_good_pointers,
                   std::function<void()> thread);

// True for null, and for a pointer into (or to the end of) device memory or pinned host memory.
bool can_be_used_by_kernels(const void* pointer);

}  // namespace detol::emulated
