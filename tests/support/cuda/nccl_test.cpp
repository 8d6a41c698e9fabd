#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <nccl.h>

#include "tests/support/cuda/emulated.h"

namespace detol::emulated {
namespace {

class Ranks : public Emulated {
 protected:
  // Runs body(rank, result, communicator, stream) on a thread for each rank, with device `rank %
  // devices`.
  template <typename Body>
  static void run(int ranks, int devices, const Body& body) {
    Settings settings;
    settings.devices = devices;
    set(settings);
    ncclUniqueId id;
    EXPECT_EQ(ncclGetUniqueId(&id), ncclSuccess);
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks; ++rank) {
      threads.emplace_back([&, rank] {
        EXPECT_EQ(cudaSetDevice(rank % devices), cudaSuccess);
        cudaStream_t stream = nullptr;
        EXPECT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
        ncclComm_t communicator = nullptr;
        const ncclResult_t result = ncclCommInitRank(&communicator, ranks, id, rank);
        body(rank, result, communicator, stream);
        EXPECT_EQ(ncclCommDestroy(communicator), ncclSuccess);
        EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
};

TEST_F(Ranks, SumAndShareInGraphsToo) {
  run(3, 3, [](int rank, ncclResult_t, ncclComm_t communicator, cudaStream_t stream) {
    const auto own = static_cast<float>(rank + 1);
    const OnDevice<float> data(std::vector<float>{own, 10 * own});
    EXPECT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
    EXPECT_EQ(
        ncclAllReduce(data.data(), data.data(), 1, ncclFloat32, ncclSum, communicator, stream),
        ncclSuccess);
    EXPECT_EQ(
        ncclBroadcast(data.data() + 1, data.data() + 1, 1, ncclFloat32, 2, communicator, stream),
        ncclSuccess);
    cudaGraph_t graph = nullptr;
    EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
    EXPECT_EQ(data.read(), (std::vector<float>{own, 10 * own}));
    cudaGraphExec_t runnable = nullptr;
    EXPECT_EQ(cudaGraphInstantiate(&runnable, graph, 0), cudaSuccess);
    EXPECT_EQ(cudaGraphLaunch(runnable, stream), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_EQ(data.read(), (std::vector<float>{6, 30}));
    cudaGraphExecDestroy(runnable);
    cudaGraphDestroy(graph);
  });
}

TEST_F(Ranks, OfOneDeviceAreRefused) {
  run(2, 1, [](int, ncclResult_t result, ncclComm_t, cudaStream_t) {
    EXPECT_EQ(result, ncclInvalidUsage);
  });
}

}  // namespace
}  // namespace detol::emulated
