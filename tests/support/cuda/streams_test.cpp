#include <array>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/cuda/emulated.h"

namespace detol::emulated {
namespace {

class Streams : public Emulated {
 protected:
  void begin() const {
    EXPECT_EQ(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  }
  cudaError_t end(cudaGraph_t& graph) const { return cudaStreamEndCapture(stream_, &graph); }
};

__global__ void add(int* to, int value) {
  *to += value;
}

TEST_F(Streams, ReplayWhatTheyCapturedWithTheArgumentsOfThen) {
  const OnDevice<int> sum(std::vector<int>(1));
  int value = 3;
  begin();
  EXPECT_EQ(launch_on(stream_, 1, 1, add, sum.data(), value), cudaSuccess);
  value = 100;
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(end(graph), cudaSuccess);
  EXPECT_EQ(sum.read()[0], 0);
  cudaGraphExec_t runnable = nullptr;
  ASSERT_EQ(cudaGraphInstantiate(&runnable, graph, 0), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(cudaGraphLaunch(runnable, stream_), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  EXPECT_EQ(sum.read()[0], 12);
  EXPECT_EQ(cudaGraphExecDestroy(runnable), cudaSuccess);
}

TEST_F(Streams, RefuseWhatIsIllegalWhileTheyCapture) {
  cudaEvent_t event = nullptr;
  ASSERT_EQ(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), cudaSuccess);
  const OnDevice<int> data(std::vector<int>(1));
  int host = 0;
  void* memory = nullptr;
  const std::array calls = {
      +[](cudaStream_t stream, cudaEvent_t, int*, int*, void**) {
        return cudaStreamSynchronize(stream);
      },
      +[](cudaStream_t, cudaEvent_t, int*, int*, void**) { return cudaDeviceSynchronize(); },
      +[](cudaStream_t, cudaEvent_t, int*, int*, void** m) { return cudaMalloc(m, 4); },
      +[](cudaStream_t, cudaEvent_t e, int*, int*, void**) { return cudaEventQuery(e); },
      +[](cudaStream_t, cudaEvent_t, int* to, int* from, void**) {
        return cudaMemcpy(to, from, 4, cudaMemcpyHostToDevice);
      },
  };
  for (const auto call : calls) {
    begin();
    EXPECT_EQ(call(stream_, event, data.data(), &host, &memory), cudaErrorStreamCaptureUnsupported);
    cudaGraph_t graph = nullptr;
    EXPECT_EQ(end(graph), cudaErrorStreamCaptureInvalidated);
    EXPECT_EQ(graph, nullptr);
  }
  EXPECT_EQ(cudaEventDestroy(event), cudaSuccess);
}

TEST_F(Streams, RefuseToWaitForAnEventOfACapture) {
  cudaEvent_t event = nullptr;
  ASSERT_EQ(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), cudaSuccess);
  begin();
  EXPECT_EQ(cudaEventRecord(event, stream_), cudaSuccess);
  EXPECT_EQ(cudaEventSynchronize(event), cudaErrorCapturedEvent);
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(end(graph), cudaSuccess);
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  EXPECT_EQ(cudaEventDestroy(event), cudaSuccess);
}

TEST_F(Streams, JoinACaptureByAnEventAndMustComeBack) {
  cudaEvent_t event = nullptr;
  ASSERT_EQ(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), cudaSuccess);
  cudaStream_t other = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking), cudaSuccess);
  const OnDevice<int> sum(std::vector<int>(1));
  for (const bool comes_back : {true, false}) {
    begin();
    EXPECT_EQ(cudaEventRecord(event, stream_), cudaSuccess);
    EXPECT_EQ(cudaStreamWaitEvent(other, event, 0), cudaSuccess);
    EXPECT_EQ(launch_on(other, 1, 1, add, sum.data(), 1), cudaSuccess);
    if (comes_back) {
      EXPECT_EQ(cudaEventRecord(event, other), cudaSuccess);
      EXPECT_EQ(cudaStreamWaitEvent(stream_, event, 0), cudaSuccess);
    }
    cudaGraph_t graph = nullptr;
    EXPECT_EQ(end(graph), comes_back ? cudaSuccess : cudaErrorStreamCaptureUnjoined);
    EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  }
  EXPECT_EQ(sum.read()[0], 0);
  EXPECT_EQ(cudaStreamDestroy(other), cudaSuccess);
  EXPECT_EQ(cudaEventDestroy(event), cudaSuccess);
}

TEST_F(Streams, ThatAreLazyDoNothingBeforeSomebodyWaits) {
  set(settings_from("lazy"));
  const OnDevice<int> sum(std::vector<int>(1));
  EXPECT_EQ(launch_on(stream_, 1, 1, add, sum.data(), 5), cudaSuccess);
  EXPECT_EQ(sum.read()[0], 0);
  EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  EXPECT_EQ(sum.read()[0], 5);
}

TEST_F(Streams, ThatAreLazyWaitForEachOtherByEvents) {
  set(settings_from("lazy"));
  cudaEvent_t event = nullptr;
  ASSERT_EQ(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), cudaSuccess);
  cudaStream_t other = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking), cudaSuccess);
  const OnDevice<int> sum(std::vector<int>(1));
  EXPECT_EQ(launch_on(stream_, 1, 1, add, sum.data(), 5), cudaSuccess);
  EXPECT_EQ(cudaEventRecord(event, stream_), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(event), cudaErrorNotReady);
  EXPECT_EQ(launch_on(stream_, 1, 1, add, sum.data(), 1), cudaSuccess);
  EXPECT_EQ(cudaEventRecord(event, stream_), cudaSuccess);
  EXPECT_EQ(cudaStreamWaitEvent(other, event, 0), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(other), cudaSuccess);
  EXPECT_EQ(sum.read()[0], 6);
  EXPECT_EQ(cudaEventQuery(event), cudaSuccess);
  EXPECT_EQ(cudaStreamDestroy(other), cudaSuccess);
  EXPECT_EQ(cudaEventDestroy(event), cudaSuccess);
}

TEST_F(Streams, RunFunctionsOfTheHostThatMakeNoCalls) {
  cudaError_t told = cudaSuccess;
  EXPECT_EQ(
      cudaLaunchHostFunc(
          stream_,
          [](void* to) { *static_cast<cudaError_t*>(to) = cudaStreamSynchronize(nullptr); }, &told),
      cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  EXPECT_EQ(told, cudaErrorNotPermitted);
}

}  // namespace
}  // namespace detol::emulated
