#pragma once

// The fixture and helpers of the tests of the emulated device.

#include <cstddef>
#include <utility>
#include <vector>

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include "tests/support/cuda/state.h"

namespace detol::emulated {

// OnDevice: memory of the device that starts as a copy of `values`.
template <typename T>
class OnDevice {
 public:
  explicit OnDevice(const std::vector<T>& values) : count_(values.size()) {
    EXPECT_EQ(cudaMalloc(&data_, count_ * sizeof(T)), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(data_, values.data(), count_ * sizeof(T), cudaMemcpyHostToDevice),
              cudaSuccess);
  }
  ~OnDevice() { cudaFree(data_); }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

  T* data() const { return static_cast<T*>(data_); }
  std::vector<T> read() const {
    std::vector<T> values(count_);
    EXPECT_EQ(cudaMemcpy(values.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost),
              cudaSuccess);
    return values;
  }

 private:
  void* data_ = nullptr;
  std::size_t count_ = 0;
};

// Each test has a device that is not broken, and a stream.
class Emulated : public testing::Test {
 protected:
  Emulated() {
    set({});
    EXPECT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
  }
  ~Emulated() override {
    set({});
    EXPECT_EQ(cudaStreamDestroy(stream_), cudaSuccess);
  }

  template <typename... Params, typename... Args>
  static cudaError_t launch_on(cudaStream_t stream, dim3 blocks, dim3 threads,
                               void (*kernel)(Params...), Args&&... args) {
    cudaLaunchConfig_t config = {};
    config.gridDim = blocks;
    config.blockDim = threads;
    config.stream = stream;
    return cudaLaunchKernelEx(&config, kernel, std::forward<Args>(args)...);
  }

  template <typename... Params, typename... Args>
  void run(dim3 blocks, dim3 threads, void (*kernel)(Params...), Args&&... args) const {
    EXPECT_EQ(launch_on(stream_, blocks, threads, kernel, std::forward<Args>(args)...),
              cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  }

  cudaStream_t stream_ = nullptr;
};

}  // namespace detol::emulated
