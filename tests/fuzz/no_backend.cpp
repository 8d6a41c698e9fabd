// Replaces trainer/predict.cpp, so that the fuzzers are built without oneDNN's kernels. No target
// computes a model's outputs; tests/export compares them.

#include "trainer/predict.h"

namespace detol::inline trainer {

Result<std::vector<float>> logits_of(const Network&, const Weights&, std::span<const float>,
                                     std::string_view) {
  return fail(ErrorCode::kInternal, "the fuzzers have no backend");
}

}  // namespace detol::inline trainer
