#pragma once

// CudaPlugin is what libdetol_cuda.so, the GPU backend's library, shows to the program. The library
// is loaded only where a device is present (load.h), so that one program serves machines with and
// without one. Both are built together: the stamp says so.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/result.h"
#include "trainer/backends/backend.h"

namespace detol::inline trainer {

struct DeviceInfo {
  std::string name;          // "NVIDIA H200"
  std::string uuid;          // "GPU-…", the same for every process
  int major = 0, minor = 0;  // compute capability
  int multiprocessors = 0;
  std::size_t memory = 0;       // bytes
  std::size_t free_memory = 0;  // now
};

// CudaReport lists what was found; versions as people write them, "13.0", "9.19.0". An empty one is
// not there.
struct CudaReport {
  std::vector<DeviceInfo> devices;  // that this process may use
  std::string driver, runtime, cudnn, cublas, nccl;
};

// DevicePeaks are measured now: copying arrays far beyond its caches, bytes read and
// bytes written counted; and a large matrix product, two operations per multiply-add.
struct DevicePeaks {
  double bytes_per_s = 0, flops_per_s = 0;
};

// Seconds of the device. A unit's (plan.h) are those of its node; the nodes that are fused into it
// have none.
struct NodeSeconds {
  double forward = 0, backward = 0;  // backward: the gradients of inputs and weights
};

struct NetworkSeconds {
  std::vector<double> steps;       // of a training step on a data set that lies on the device: each
                                   // the mean of a run of steps, made as a training makes them
  std::vector<NodeSeconds> nodes;  // by node: medians over steps whose kernels run one by one
};

struct CudaPlugin {
  const char* stamp;  // kCudaStamp of its build
  // Errors (kUsage): no device can be used, and why not.
  Result<CudaReport> (*report)();
  // The backend's; as in BackendRow.
  Result<std::unique_ptr<Executable>> (*compile)(const Network&, const Recipe&, const Placement&);
  Result<std::vector<AlgorithmCandidates>> (*list_algorithms)(const Network&, const Recipe&,
                                                              const Placement&);
  Result<std::vector<TimedShape>> (*time_algorithms)(const Network&, const Recipe&,
                                                     const Placement&,
                                                     const std::function<void()>& on_progress);
  // Measures the device. `precision` is a recipe's, of the matrix product.
  Result<DevicePeaks> (*peaks)(const std::string& precision);
  // `runs` of each kind, on noise, after some first ones that do not count; augmented as the recipe
  // says. Errors and exceptions as compile's.
  Result<NetworkSeconds> (*time_network)(const Network&, const Recipe&, int runs);
};

// Raised with every change of what the two sides exchange.
inline constexpr const char* kCudaStamp = "detol-cuda-2";

// The library's one symbol.
inline constexpr const char* kCudaEntry = "detol_cuda_plugin";

}  // namespace detol::inline trainer
