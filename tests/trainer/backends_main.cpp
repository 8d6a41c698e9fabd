// The main() of tests of the backends. Where they are to run over the GPU's and there is no device,
// the program says why in one line and ends with 77, which CTest counts as skipped.

#include <cstdio>
#include <string>

#include <gtest/gtest.h>

#include "tests/trainer/tested_backends.h"
#include "trainer/cuda/load.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const std::string reason = detol::tests_the_gpu() ? detol::why_not_cudnn() : "";
  if (!reason.empty()) {
    std::printf("skipped, for there is no GPU to test: %s\n", reason.c_str());
    return 77;
  }
  return RUN_ALL_TESTS();
}
