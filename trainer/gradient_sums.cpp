#include "trainer/gradient_sums.h"

#include <cassert>

#include "core/table.h"

namespace detol {

GradientSums::GradientSums(const Recipe& recipe, Group& group, std::span<const Stretch> stretches) {
  const CompressionRow& row = *find_row(compressions(), recipe.compression);
  for (const Stretch& stretch : stretches)
    parts_.push_back({stretch, row.make(recipe, group, stretch)});
}

void GradientSums::start_next(std::span<float> gradients) {
  const Part& part = parts_[next_++];
  part.sum->start(gradients.subspan(part.stretch.first, part.stretch.floats));
}

void GradientSums::finish() {
  assert(next_ == parts_.size());
  for (const Part& part : parts_) part.sum->finish();
  next_ = 0;
}

}  // namespace detol
