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
  const BlockRun run = {
      .extent = {block.x, block.y, block.z},
      .body = [](void* context) { (*static_cast<const std::function<void()>*>(context))(); },
      .context = const_cast<std::function<void()>*>(&thread),
      .is_reversed = settings().is_reversed};
  const std::uint64_t count = std::uint64_t{grid.x} * grid.y * grid.z;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t at = run.is_reversed ? count - 1 - i : i;
    blockIdx = {static_cast<unsigned>(at % grid.x), static_cast<unsigned>(at / grid.x % grid.y),
                static_cast<unsigned>(at / grid.x / grid.y)};
    if (const char* fault = run_block(run)) return break_device(cudaErrorLaunchFailure, fault);
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
