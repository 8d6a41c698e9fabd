#pragma once

// Compression: what of a rank's gradients travels to the other ranks. A row of the table makes the
// sums of one kind; what arrives is the same on every rank, to the bit, whatever the MPI.

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "encodings/study/recipe.h"
#include "trainer/collectives/group.h"

namespace detol {

// One stretch of the gradients on its way to being summed up over the ranks. Allocates nothing
// after it was made.
class StretchSum {
 public:
  virtual ~StretchSum() = default;

  // Begins to replace the values by the sum of what the ranks send of them; until it is finished
  // they are not to be touched.
  virtual void start(std::span<float> values) = 0;
  virtual void finish() = 0;
};

struct Stretch {
  std::size_t first = 0, floats = 0;  // of the flat gradients
};

struct CompressionRow {
  std::string_view name;
  std::string_view summary;
  bool has_residual;  // a rank keeps back what it does not send, an element each
  // `residual`: the stretch's, empty without; outlives the sum.
  std::unique_ptr<StretchSum> (*make)(const Recipe& recipe, Group& group, Stretch stretch,
                                      std::span<float> residual);
};

// none, fp16, top_k: the words of training.compression.
std::span<const CompressionRow> compressions();

}  // namespace detol
