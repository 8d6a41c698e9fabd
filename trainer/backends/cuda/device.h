#pragma once

// Device: the GPU of this process: its properties, the stream that all work goes to, the handles
// of the libraries, and memory. Each thread that trains has its own, made by its first device():
// a process has one such thread; in tests every rank is a thread.
//
// Failures are thrown: std::bad_alloc for memory, DeviceError for the rest. After a DeviceError the
// context may be broken for good: the process must end. Private to this folder.

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>

#include <cuda_runtime_api.h>

struct cudnnContext;
struct cublasLtContext;

namespace detol::inline trainer::cuda {

struct DeviceError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Throws unless `status` is cudaSuccess; `what` names the failed operation.
void check(cudaError_t status, const char* what);

struct Device {
  std::string name, uuid;
  int major = 0, minor = 0;
  int multiprocessors = 1;
  std::size_t memory = 0;
  cudaStream_t stream = nullptr;
  cudnnContext* cudnn = nullptr;
  cublasLtContext* cublas = nullptr;
  std::string versions;  // of cuDNN and the device: what a choice of algorithms depends on
};

// Returns "GPU-…", as nvidia-smi and CUDA_VISIBLE_DEVICES write it.
std::string uuid_of(const cudaUUID_t& id);

// Returns this thread's device. Throws if there is none that works.
const Device& device();

// Waits for all work of the stream.
void wait();

// DeviceMemory owns memory of the device.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  explicit DeviceMemory(std::size_t bytes);  // throws std::bad_alloc
  std::byte* data() const { return data_.get(); }
  std::size_t bytes() const { return bytes_; }
  template <typename T>
  T* as() const {
    return reinterpret_cast<T*>(data_.get());
  }

 private:
  struct Free {
    void operator()(std::byte* data) const;
  };
  std::unique_ptr<std::byte, Free> data_;
  std::size_t bytes_ = 0;
};

// HostMemory owns pinned memory of the host, which the device reads and writes directly.
class HostMemory {
 public:
  HostMemory() = default;
  explicit HostMemory(std::size_t bytes);  // zeros; throws std::bad_alloc
  std::byte* data() const { return data_.get(); }
  std::size_t bytes() const { return bytes_; }
  template <typename T>
  T* as() const {
    return reinterpret_cast<T*>(data_.get());
  }
  // Returns the address of this memory for kernels.
  template <typename T>
  T* on_device() const {
    return static_cast<T*>(device_address());
  }

 private:
  void* device_address() const;
  struct Free {
    void operator()(std::byte* data) const;
  };
  std::unique_ptr<std::byte, Free> data_;
  std::size_t bytes_ = 0;
};

// These run in the order of the stream; only `to_host` waits until it is done.
void to_device(void* to, const void* from, std::size_t bytes);
void to_host(void* to, const void* from, std::size_t bytes);
void set_to_zero(void* data, std::size_t bytes);

}  // namespace detol::inline trainer::cuda
