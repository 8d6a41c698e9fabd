#include "scheduler/launchers/gpus.h"

#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/idx_writer.h"
#include "tests/support/temp_folder.h"

// NOLINTBEGIN(concurrency-mt-unsafe): tests run one by one.

namespace detol {
namespace {

std::string seen() {
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  return visible == nullptr ? "" : visible;
}

class SelectGpu : public testing::Test {
 protected:
  void TearDown() override { ::unsetenv("CUDA_VISIBLE_DEVICES"); }
};

TEST_F(SelectGpu, RanksTakeTheGpusInTurn) {
  const std::vector<Gpu> gpus = {{.id = "GPU-a", .name = ""}, {.id = "GPU-b", .name = ""}};
  std::string taken;
  for (int rank = 0; rank < 5; ++rank) {
    select_gpus(gpus, rank);
    taken += seen().back();
  }
  EXPECT_EQ(taken, "ababa");
}

TEST_F(SelectGpu, WhereThereAreNoneTheEnvironmentStaysAsItIs) {
  ::setenv("CUDA_VISIBLE_DEVICES", "GPU-z", 1);
  select_gpus({}, 3);
  EXPECT_EQ(seen(), "GPU-z");
}

TEST_F(SelectGpu, OutsideOfAJobAProcessIsTheFirstOnItsMachine) {
  EXPECT_EQ(local_rank(), 0);
}

TEST(SharingFor, SmallNetworksShareAGpuAndLargeOnesHaveItAlone) {
  EXPECT_EQ(sharing_for(80e9, 100e6), kMostSharing);
  EXPECT_EQ(sharing_for(16e9, 2e9), 4);
  EXPECT_EQ(sharing_for(16e9, 15e9), 1);
  EXPECT_EQ(sharing_for(1e9, 15e9), 1);
}

TEST(WorkerMemory, IsOfTheSmallestGpuAndOfAllRanks) {
  RunOptions options;
  options.gpus = {{.id = "a", .name = "", .memory = 80e9}, {.id = "b", .name = "", .memory = 40e9}};
  options.workers = 4;
  EXPECT_DOUBLE_EQ(worker_memory(options.gpus, 1, ranks_per_gpu(options)), 40e9 / 2 - kWorkerNeeds);
  options.workers = 1;
  options.group_size = 2;
  EXPECT_DOUBLE_EQ(worker_memory(options.gpus, 2, ranks_per_gpu(options)),
                   2 * (40e9 - kWorkerNeeds));
}

class MpsService : public testing::Test {
 protected:
  MpsService() {
    testing_support::write_bytes(folder.path() / "nvidia-cuda-mps-control", "#!/bin/sh\n");
    std::filesystem::permissions(folder.path() / "nvidia-cuda-mps-control",
                                 std::filesystem::perms::owner_all);
    ::setenv("PATH", folder.path().c_str(), 1);
    options.gpus = {{.id = "a", .name = "", .memory = 80e9}};
  }
  void TearDown() override { ::setenv("PATH", path.c_str(), 1); }

  testing_support::TempFolder folder;
  const std::string path = std::getenv("PATH");
  RunOptions options;
};

TEST_F(MpsService, RunsWhereWorkersShareAGpu) {
  options.workers = 2;
  const Service service = mps_service(options, folder.path());
  ASSERT_EQ(service.words.size(), 2u);
  EXPECT_EQ(service.environment.front(),
            "CUDA_MPS_PIPE_DIRECTORY=" + (folder.path() / "mps").string());
}

TEST_F(MpsService, GivesEachOfManyWorkersTwiceItsShareOfTheMultiprocessors) {
  const auto percent = [&](int workers) {
    options.workers = workers;
    std::string found;
    for (const std::string& variable : mps_service(options, folder.path()).environment) {
      if (variable.starts_with("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=")) found += variable.substr(34);
    }
    return found;
  };
  EXPECT_EQ(percent(2), "");
  EXPECT_EQ(percent(3), "67");
  EXPECT_EQ(percent(8), "25");
  options.gpus.push_back({.id = "b", .name = "", .memory = 80e9});
  EXPECT_EQ(percent(8), "50");
  ::setenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "10", 1);
  EXPECT_EQ(percent(8), "");
  ::unsetenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE");
}

TEST_F(MpsService, IsNotWantedByWorkersWithAGpuEach) {
  options.workers = 1;
  EXPECT_TRUE(mps_service(options, folder.path()).words.empty());
}

TEST_F(MpsService, OfSomebodyElseIsUsedAsItIs) {
  options.workers = 2;
  ::setenv("CUDA_MPS_PIPE_DIRECTORY", "/elsewhere", 1);
  EXPECT_TRUE(mps_service(options, folder.path()).words.empty());
  ::unsetenv("CUDA_MPS_PIPE_DIRECTORY");
}

}  // namespace
}  // namespace detol

// NOLINTEND(concurrency-mt-unsafe)
