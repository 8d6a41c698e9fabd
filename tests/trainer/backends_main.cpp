// The main() of tests of the backends.

#include <gtest/gtest.h>

#include "tests/trainer/tested_backends.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  return detol::must_skip() ? detol::kSkipped : RUN_ALL_TESTS();
}
