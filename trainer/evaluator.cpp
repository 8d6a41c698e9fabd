#include "trainer/evaluator.h"

#include <algorithm>

namespace detol::inline trainer {

double epoch_work(const Candidate& candidate, const DatasetInfo& data) {
  const std::int64_t batch = std::min(candidate.recipe.batch_size, data.training);
  if (batch <= 0) return 0;
  const std::int64_t images = data.training / batch * batch;
  return static_cast<double>(candidate.cost.flops) * static_cast<double>(images);
}

}  // namespace detol::inline trainer
