#include <gtest/gtest.h>

#include "bench/networks.h"
#include "trainer/backends.h"

namespace detol {
namespace {

TEST(Precision, BackendsOfTheCpuHaveFp32Alone) {
  const Network network = make_resnet({.input = {1, 8, 8}, .width = 4});
  for (const BackendRow& row : backends()) {
    if (row.why_not != nullptr) continue;
    for (const char* precision : {"fp32", "tf32", "bf16"}) {
      SCOPED_TRACE(std::string(row.name) + " " + precision);
      const Recipe recipe{.batch_size = 2, .precision = precision};
      const auto compiled = row.compile(network, recipe, {});
      ASSERT_EQ(compiled.has_value(), recipe.precision == "fp32");
      EXPECT_TRUE(compiled || compiled.error().code == ErrorCode::kInput);
    }
  }
}

}  // namespace
}  // namespace detol
