#include "tests/support/cuda/launch.h"

#include <string>

#include <cuda_runtime.h>

#include "tests/support/cuda/fibers.h"
#include "tests/support/cuda/state.h"
#include "tests/support/cuda/streams.h"

namespace detol::emulated {
namespace {

constexpr unsigned kMostThreads = 1024, kMostBlocksInY = 65535;

bool is_valid(const cudaLaunchConfig_t& config) {
  const auto all = [](const dim3& extent) { return std::uint64_t{extent.x} * extent.y * extent.z; };
  return all(config.gridDim) > 0 && config.gridDim.y <= kMostBlocksInY &&
         config.gridDim.z <= kMostBlocksInY && all(config.blockDim) > 0 &&
         all(config.blockDim) <= kMostThreads && config.blockDim.z <= 64 &&
         config.dynamicSmemBytes == 0;
}

void run_grid(const dim3& grid, const dim3& block, const std::function<void()>& thread) {
  if (!may_run()) return;
  gridDim = grid;
  blockDim = block;
  auto* const body = const_cast<std::function<void()>*>(&thread);
  for (unsigned z = 0; z < grid.z; ++z) {
    for (unsigned y = 0; y < grid.y; ++y) {
      for (unsigned x = 0; x < grid.x; ++x) {
        blockIdx = {x, y, z};
        const char* fault = run_block(
            {block.x, block.y, block.z},
            [](void* context) { (*static_cast<std::function<void()>*>(context))(); }, body);
        if (fault != nullptr) return break_device(cudaErrorLaunchFailure, fault);
      }
    }
  }
}

}  // namespace

cudaError_t launch(const cudaLaunchConfig_t* config, bool has_good_pointers,
                   std::function<void()> thread) {
  if (const cudaError_t error = entered()) return error;
  if (!is_valid(*config)) return failed(cudaErrorInvalidConfiguration);
  const dim3 grid = config->gridDim, block = config->blockDim;
  if (!has_good_pointers)
    thread = [] { break_device(cudaErrorIllegalAddress, "a kernel was given memory of the host"); };
  return enqueue(config->stream,
                 [grid, block, thread = std::move(thread)] { run_grid(grid, block, thread); });
}

}  // namespace detol::emulated
