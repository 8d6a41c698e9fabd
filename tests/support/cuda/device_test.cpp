#include <array>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/cuda/emulated.h"

namespace detol::emulated {
namespace {

class Device : public Emulated {};

TEST_F(Device, FreshMemoryIsNaN) {
  void* data = nullptr;
  ASSERT_EQ(cudaMalloc(&data, 12), cudaSuccess);
  std::array<float, 3> read{};
  ASSERT_EQ(cudaMemcpy(read.data(), data, 12, cudaMemcpyDeviceToHost), cudaSuccess);
  for (const float value : read) EXPECT_TRUE(std::isnan(value));
  EXPECT_EQ(cudaFree(data), cudaSuccess);
}

__global__ void write_behind(char* data, int count) {
  data[count] = 1;
}

TEST_F(Device, SeesAWriteBehindAnAllocation) {
  const OnDevice<char> data(std::vector<char>(100));
  EXPECT_EQ(launch_on(stream_, 1, 1, write_behind, data.data(), 100), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream_), cudaErrorIllegalAddress);
}

TEST_F(Device, CountsItsMemory) {
  set({.memory = 10'000});
  std::size_t before = 0, after = 0, total = 0;
  EXPECT_EQ(cudaMemGetInfo(&before, &total), cudaSuccess);
  EXPECT_EQ(total, 10'000U);
  void* data = nullptr;
  EXPECT_EQ(cudaMalloc(&data, 10'001), cudaErrorMemoryAllocation);
  EXPECT_EQ(data, nullptr);
  EXPECT_EQ(cudaMalloc(&data, 1000), cudaSuccess);
  EXPECT_EQ(cudaMemGetInfo(&after, &total), cudaSuccess);
  EXPECT_EQ(before - after, 1024U);
  EXPECT_EQ(cudaFree(data), cudaSuccess);
}

TEST_F(Device, RefusesACopyOfTheWrongKindOrSize) {
  const OnDevice<int> data(std::vector<int>(4));
  std::array<int, 8> host{};
  EXPECT_EQ(cudaMemcpy(host.data(), data.data(), 16, cudaMemcpyHostToDevice),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(data.data(), host.data(), 16, cudaMemcpyDeviceToHost),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(data.data(), host.data(), 20, cudaMemcpyHostToDevice),
            cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemset(host.data(), 0, 4), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST_F(Device, FreesWhatItGaveAlone) {
  int host = 0;
  EXPECT_EQ(cudaFree(&host), cudaErrorInvalidValue);
  EXPECT_EQ(cudaFree(nullptr), cudaSuccess);
}

__global__ void nothing() {}

TEST_F(Device, BreaksInTheLaunchThatIsAskedForAndStaysBroken) {
  set(settings_from("launch:2"));
  run(1, 1, nothing);
  EXPECT_EQ(launch_on(stream_, 1, 1, nothing), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream_), cudaErrorIllegalAddress);
  EXPECT_EQ(cudaGetLastError(), cudaErrorIllegalAddress);
  void* data = nullptr;
  EXPECT_EQ(cudaMalloc(&data, 4), cudaErrorIllegalAddress);
}

TEST_F(Device, RunsOutOfMemoryWhereItIsAskedTo) {
  set(settings_from("memory:1000000,malloc:2"));
  void *one = nullptr, *two = nullptr;
  EXPECT_EQ(cudaMalloc(&one, 4), cudaSuccess);
  EXPECT_EQ(cudaMalloc(&two, 4), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaMalloc(&two, 4), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaFree(one), cudaSuccess);
}

TEST_F(Device, IsNotThereWhereItIsAskedNotTo) {
  set(settings_from("none"));
  int count = 7;
  EXPECT_EQ(cudaGetDeviceCount(&count), cudaErrorNoDevice);
  EXPECT_EQ(count, 0);
  EXPECT_EQ(cudaSetDevice(0), cudaErrorNoDevice);
}

}  // namespace
}  // namespace detol::emulated
