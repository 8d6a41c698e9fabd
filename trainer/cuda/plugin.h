#pragma once

// What the GPU backend's library, libdetol_cuda.so, shows to the program. The library is loaded
// only where a device is present (load.h), so that one program serves machines with and without
// one. Both are built together: the stamp says so.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/result.h"
#include "trainer/backend.h"

namespace detol {

struct DeviceInfo {
  std::string name;          // "NVIDIA H200"
  std::string uuid;          // "GPU-…", the same for every process
  int major = 0, minor = 0;  // compute capability
  int multiprocessors = 0;
  std::size_t memory = 0;       // bytes
  std::size_t free_memory = 0;  // now
};

// What was found; versions as people write them, "13.0", "9.19.0". An empty one is not there.
struct CudaReport {
  std::vector<DeviceInfo> devices;  // that this process may use
  std::string driver, runtime, cudnn, cublas, nccl;
};

struct CudaPlugin {
  const char* stamp;  // kCudaStamp of its build
  // Errors (kUsage): no device can be used, and why not.
  Result<CudaReport> (*report)();
  // The backend's; as in BackendRow.
  Result<std::unique_ptr<Executable>> (*compile)(const Network&, const Recipe&, const Placement&);
  Result<std::vector<OpenChoice>> (*open_choices)(const Network&, const Recipe&, const Placement&);
  Result<std::vector<TimedChoice>> (*time_choices)(const Network&, const Recipe&, const Placement&,
                                                   const std::function<void()>& turn);
};

// Raised with every change of what the two sides exchange.
inline constexpr const char* kCudaStamp = "detol-cuda-1";

// The library's one symbol.
inline constexpr const char* kCudaEntry = "detol_cuda_plugin";

}  // namespace detol
