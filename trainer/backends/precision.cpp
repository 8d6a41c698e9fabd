#include "trainer/backends/precision.h"

#include <fmt/format.h>

#include "encodings/study/training_settings.h"

namespace detol::inline trainer {

Result<void> check_fp32(const Recipe& recipe) {
  DETOL_TRY(check_words(recipe));
  if (precision_of(recipe) == PrecisionKind::kFp32) return {};
  return fail(ErrorCode::kInput,
              fmt::format("training.precision is {}, which the CPU does not have; use fp32",
                          recipe.precision));
}

}  // namespace detol::inline trainer
