#include "trainer/backends/precision.h"

#include <fmt/format.h>

namespace detol {

Result<void> check_fp32(const Recipe& recipe) {
  if (recipe.precision == "fp32") return {};
  return fail(ErrorCode::kInput,
              fmt::format("training.precision is {}, which the CPU does not have; use fp32",
                          recipe.precision));
}

}  // namespace detol
