// A test program that plays every role of its runs.

#include <gtest/gtest.h>

#include "tests/scheduler/process_support.h"

int main(int argc, char** argv) {
  if (const auto code = detol::run_role(argc, argv, detol::testing_support::formula_hooks()))
    return *code;
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
