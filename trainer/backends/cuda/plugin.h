#pragma once

// CudaPlugin is the interface of libdetol_cuda.so, the GPU backend's library, to the program. The
// library is loaded only where a device is present (load.h), so that one program serves machines
// with and without a device. The stamp ensures that both are of one build.

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
  std::size_t free_memory = 0;  // bytes, now; of the first device only
};

// CudaReport lists devices and the versions of libraries as people write them, "13.0", "9.19.0"; a
// version is empty if the library is missing.
struct CudaReport {
  std::vector<DeviceInfo> devices;  // that this process may use
  std::string driver, runtime, cudnn, cublas, nccl;
};

// DevicePeaks holds measured peaks: of copying arrays much larger than the caches, bytes read plus
// bytes written; and of a large matrix product, two operations per multiply-add.
struct DevicePeaks {
  double bytes_per_s = 0, flops_per_s = 0;
};

// NodeSeconds is the device time of a node. The time of a unit (plan.h) counts for Unit::node;
// the nodes that are fused into it have none.
struct NodeSeconds {
  double forward = 0, backward = 0;  // backward: the gradients of inputs and weights
};

struct NetworkSeconds {
  std::vector<double> steps;       // of a training step with the data set on the device: each
                                   // the mean of a run of steps like those of a training
  std::vector<NodeSeconds> nodes;  // by node: medians over steps whose kernels run one by one
};

struct CudaPlugin {
  const char* stamp;  // kCudaStamp of its build
  // Errors (kUsage): no device can be used, and why not.
  Result<CudaReport> (*report)();
  // The functions of the backend's row, as in BackendRow.
  Result<std::unique_ptr<Executable>> (*compile)(const Network&, const Recipe&, const Placement&);
  Result<std::vector<AlgorithmCandidates>> (*list_algorithms)(const Network&, const Recipe&,
                                                              const Placement&);
  Result<std::vector<TimedShape>> (*time_algorithms)(const Network&, const Recipe&,
                                                     const Placement&,
                                                     const std::function<void()>& on_progress);
  // Measures the device. `precision` is that of the matrix product, as in a recipe.
  Result<DevicePeaks> (*peaks)(const std::string& precision);
  // Times `runs` runs of steps, and of single nodes, after one of each that is not counted. Images
  // are noise, augmented as the recipe says. Errors and exceptions as compile's.
  Result<NetworkSeconds> (*time_network)(const Network&, const Recipe&, int runs);
};

// Changed with every change of what program and library exchange.
inline constexpr const char* kCudaStamp = "detol-cuda-2";

// The name of the only symbol that the library exports.
inline constexpr const char* kCudaEntry = "detol_cuda_plugin";

}  // namespace detol::inline trainer
