#include "trainer/backends/cuda/device.h"

#include <fmt/format.h>

#include <cstring>
#include <new>

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>

namespace detol::inline trainer::cuda {
std::string uuid_of(const cudaUUID_t& id) {
  std::string text = "GPU-";
  for (std::size_t i = 0; i < sizeof(id.bytes); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", static_cast<unsigned char>(id.bytes[i]));
  }
  return text;
}

namespace {

Device make_device() {
  Device device;
  check(cudaSetDevice(0), "choosing the first device");
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, 0), "asking for the device's properties");
  device.name = properties.name;
  device.uuid = uuid_of(properties.uuid);
  device.major = properties.major;
  device.minor = properties.minor;
  device.multiprocessors = properties.multiProcessorCount;
  device.memory = properties.totalGlobalMem;
  check(cudaStreamCreateWithFlags(&device.stream, cudaStreamNonBlocking), "making a stream");
  if (cudnnCreate(&device.cudnn) != CUDNN_STATUS_SUCCESS ||
      cudnnSetStream(device.cudnn, device.stream) != CUDNN_STATUS_SUCCESS)
    throw DeviceError("cuda: cuDNN does not start");
  if (cublasLtCreate(&device.cublas) != CUBLAS_STATUS_SUCCESS)
    throw DeviceError("cuda: cuBLASLt does not start");
  device.versions = fmt::format("sm{}{} {}", properties.major, properties.minor, cudnnGetVersion());
  return device;
}

}  // namespace

void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();  // clears the error: a smaller request may fit
    throw std::bad_alloc();
  }
  throw DeviceError(fmt::format("cuda: {} failed: {} ({})", what, cudaGetErrorString(status),
                                cudaGetErrorName(status)));
}

// Never destroyed: the driver may be unloaded before the last static object is destroyed.
const Device& device() {
  static thread_local const Device* const kDevice = new Device(make_device());
  return *kDevice;
}

void wait() {
  check(cudaStreamSynchronize(device().stream), "the work on the device");
}

DeviceMemory::DeviceMemory(std::size_t bytes) : bytes_(bytes) {
  device();
  void* data = nullptr;
  check(cudaMalloc(&data, bytes), "taking memory of the device");
  data_.reset(static_cast<std::byte*>(data));
}

void DeviceMemory::Free::operator()(std::byte* data) const {
  cudaFree(data);
}

HostMemory::HostMemory(std::size_t bytes) : bytes_(bytes) {
  device();
  void* data = nullptr;
  check(cudaHostAlloc(&data, bytes, cudaHostAllocMapped), "taking memory for transfers");
  std::memset(data, 0, bytes);
  data_.reset(static_cast<std::byte*>(data));
}

void HostMemory::Free::operator()(std::byte* data) const {
  cudaFreeHost(data);
}

void* HostMemory::device_address() const {
  void* address = nullptr;
  check(cudaHostGetDevicePointer(&address, data_.get(), 0), "mapping memory");
  return address;
}

void to_device(void* to, const void* from, std::size_t bytes) {
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, device().stream),
        "copying to the device");
}

void to_host(void* to, const void* from, std::size_t bytes) {
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, device().stream),
        "copying from the device");
  wait();
}

void set_to_zero(void* data, std::size_t bytes) {
  check(cudaMemsetAsync(data, 0, bytes, device().stream), "clearing memory");
}

}  // namespace detol::inline trainer::cuda
