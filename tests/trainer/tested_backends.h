#pragma once

#include <gtest/gtest.h>

// The rows of backends() that a test program runs over. The environment variable
// DETOL_TESTED_BACKENDS says which: `cpu`, the default, are those that every machine can use;
// `gpu` is the GPU's, for runs on a device or on an emulated one. So CTest runs one program as
// several tests.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/backends.h"
#include "trainer/backends/cuda/load.h"

namespace detol {

inline bool tests_the_gpu() {
  const char* named = std::getenv("DETOL_TESTED_BACKENDS");
  return named != nullptr && std::string_view(named) == "gpu";
}

// main() returns this, and must_skip() prints why, where the GPU is to be tested and cannot be:
// CTest counts 77 as skipped.
inline constexpr int kSkipped = 77;
inline bool must_skip() {
  const std::string reason = tests_the_gpu() ? why_not_cudnn() : "";
  if (!reason.empty()) std::printf("skipped, for there is no GPU to test: %s\n", reason.c_str());
  return !reason.empty();
}

// Returns the rows to test, fastest first; the last of the CPU is the reference.
inline std::span<const BackendRow> tested_backends() {
  const std::span<const BackendRow> all = backends();
  const auto first_of_cpu =
      std::ranges::find_if(all, [](const BackendRow& row) { return row.why_not == nullptr; });
  const auto of_gpu = static_cast<std::size_t>(first_of_cpu - all.begin());
  return tests_the_gpu() ? all.first(of_gpu) : all.subspan(of_gpu);
}

inline const BackendRow& fastest_tested() {
  return tested_backends().front();
}

inline std::vector<std::string> tested_backend_names() {
  std::vector<std::string> names;
  for (const BackendRow& row : tested_backends()) names.emplace_back(row.name);
  return names;
}

// OnDevice is the fixture of tests that only the GPU backend has.
class OnDevice : public testing::Test {
 protected:
  void SetUp() override {
    if (!tests_the_gpu()) GTEST_SKIP() << "runs on the GPU alone";
  }
};

}  // namespace detol
