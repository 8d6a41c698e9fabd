#pragma once

// GradientSums: the gradients of the ranks of a group become their sum, a stretch at a time and
// beside the backward pass, compressed as the recipe says. Allocates nothing after it was made.

#include <memory>
#include <span>
#include <vector>

#include "encodings/recipe.h"
#include "trainer/compression.h"
#include "trainer/group.h"

namespace detol {

class GradientSums {
 public:
  // Stretches without overlap, in the order in which they will be started. The group outlives it.
  GradientSums(const Recipe& recipe, Group& group, std::span<const Stretch> stretches);

  // Begins the sum of the next stretch of this step's gradients, which are not to be touched
  // until finish().
  void start_next(std::span<float> gradients);

  // The gradients become what the step's update goes by. REQUIRES: every stretch was started.
  void finish();

 private:
  struct Part {
    Stretch stretch;
    std::unique_ptr<StretchSum> sum;
  };
  std::vector<Part> parts_;
  std::size_t next_ = 0;
};

}  // namespace detol
