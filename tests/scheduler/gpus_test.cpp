#include "scheduler/launchers/gpus.h"

#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

namespace detol {
namespace {

std::string seen() {
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  return visible == nullptr ? "" : visible;
}

class TakeGpu : public testing::Test {
 protected:
  void TearDown() override { ::unsetenv("CUDA_VISIBLE_DEVICES"); }
};

TEST_F(TakeGpu, SeatsTakeTheGpusInTurn) {
  const std::vector<Gpu> gpus = {{.id = "GPU-a", .name = ""}, {.id = "GPU-b", .name = ""}};
  std::string taken;
  for (int seat = 0; seat < 5; ++seat) {
    take_gpu(gpus, seat);
    taken += seen().back();
  }
  EXPECT_EQ(taken, "ababa");
}

TEST_F(TakeGpu, WhereThereAreNoneTheEnvironmentStaysAsItIs) {
  ::setenv("CUDA_VISIBLE_DEVICES", "GPU-z", 1);
  take_gpu({}, 3);
  EXPECT_EQ(seen(), "GPU-z");
}

TEST_F(TakeGpu, OutsideOfAJobAProcessIsTheFirstOnItsMachine) {
  EXPECT_EQ(place_on_machine(), 0);
}

}  // namespace
}  // namespace detol
