// The library exports one symbol. Its functions throw only std::bad_alloc and, in the calls of an
// Executable, DeviceError (a std::runtime_error), after which the process must end.

#include <fmt/format.h>

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>

#include "trainer/backends/cuda/backend.h"
#include "trainer/backends/cuda/device.h"
#include "trainer/backends/cuda/measure.h"
#include "trainer/backends/cuda/plugin.h"
#include "trainer/backends/cuda/sums.h"

namespace detol::inline trainer {
namespace {

std::string version(int number, int thousands = 1000, int tens = 10) {
  return fmt::format("{}.{}", number / thousands, number % thousands / tens);
}

tl::unexpected<Error> unusable(cudaError_t status) {
  return fail(ErrorCode::kUsage, fmt::format("no device can be used: {} ({})",
                                             cudaGetErrorString(status), cudaGetErrorName(status)));
}

// Makes a context only on the first device, whose free memory it reads.
Result<CudaReport> report() {
  CudaReport found;
  int devices = 0, driver = 0, runtime = 0;
  if (const cudaError_t status = cudaGetDeviceCount(&devices); status != cudaSuccess)
    return unusable(status);
  if (devices == 0) return fail(ErrorCode::kUsage, "no GPU was found");
  for (int i = 0; i < devices; ++i) {
    cudaDeviceProp properties{};
    if (const cudaError_t status = cudaGetDeviceProperties(&properties, i); status != cudaSuccess)
      return unusable(status);
    found.devices.push_back({.name = properties.name,
                             .uuid = cuda::uuid_of(properties.uuid),
                             .major = properties.major,
                             .minor = properties.minor,
                             .multiprocessors = properties.multiProcessorCount,
                             .memory = properties.totalGlobalMem,
                             .free_memory = 0});
  }
  std::size_t all = 0;
  if (const cudaError_t status = cudaMemGetInfo(&found.devices.front().free_memory, &all);
      status != cudaSuccess)
    return unusable(status);
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  found.driver = version(driver);
  found.runtime = version(runtime);
  const auto cudnn = static_cast<int>(cudnnGetVersion());
  found.cudnn = fmt::format("{}.{}.{}", cudnn / 10000, cudnn % 10000 / 100, cudnn % 100);
  const auto cublas = static_cast<int>(cublasLtGetVersion());
  found.cublas = fmt::format("{}.{}.{}", cublas / 10000, cublas % 10000 / 100, cublas % 100);
  found.nccl = cuda::nccl_version();
  return found;
}

template <typename Action>
auto caught(const Action& action) -> decltype(action()) {
  try {
    return action();
  } catch (const cuda::DeviceError& error) {
    return fail(ErrorCode::kInternal, error.what());
  }
}

Result<std::unique_ptr<Executable>> compile(const Network& network, const Recipe& recipe,
                                            const Placement& placement) {
  return caught([&] { return cuda::compile(network, recipe, placement); });
}

Result<std::vector<AlgorithmCandidates>> list_algorithms(const Network& network,
                                                         const Recipe& recipe,
                                                         const Placement& placement) {
  return caught([&] { return cuda::list_algorithms(network, recipe, placement); });
}

Result<std::vector<TimedShape>> time_algorithms(const Network& network, const Recipe& recipe,
                                                const Placement& placement,
                                                const std::function<void()>& on_progress) {
  return caught([&] { return cuda::time_algorithms(network, recipe, placement, on_progress); });
}

Result<DevicePeaks> peaks(const std::string& precision) {
  return caught([&]() -> Result<DevicePeaks> { return cuda::peaks(precision); });
}

Result<NetworkSeconds> time_network(const Network& network, const Recipe& recipe, int runs) {
  return caught([&] { return cuda::time_network(network, recipe, runs); });
}

constexpr CudaPlugin kPlugin = {kCudaStamp,      report, compile,     list_algorithms,
                                time_algorithms, peaks,  time_network};

}  // namespace
}  // namespace detol::inline trainer

extern "C" __attribute__((visibility("default"))) const detol::CudaPlugin* detol_cuda_plugin() {
  return &detol::kPlugin;
}
