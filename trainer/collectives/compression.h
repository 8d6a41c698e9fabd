#pragma once

// Compression decides what of a rank's gradients is sent to the other ranks. A row of the table
// makes the sums of one kind; what arrives is the same on every rank, to the bit, whatever the MPI.

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "encodings/study/recipe.h"
#include "trainer/collectives/group.h"

namespace detol::inline trainer {

// BucketSum sums one bucket of the gradients over the ranks. Allocates in its constructor alone.
class BucketSum {
 public:
  virtual ~BucketSum() = default;

  // Begins to replace the values by the sum of what the ranks send of them; until it is finished
  // they are not to be touched.
  virtual void start(std::span<float> values) = 0;
  virtual void finish() = 0;
};

// GradientBucket is a range of the flat gradients that is summed up at once.
struct GradientBucket {
  std::size_t first = 0, floats = 0;
};

struct CompressionRow {
  std::string_view name;
  std::string_view summary;
  bool has_residual;  // a rank keeps back what it does not send, an element each
  // `residual` is the bucket's, empty if the row has none; it outlives the sum.
  std::unique_ptr<BucketSum> (*make)(const Recipe& recipe, Group& group, GradientBucket bucket,
                                     std::span<float> residual);
};

// none, fp16, top_k: the words of training.compression.
std::span<const CompressionRow> compressions();

}  // namespace detol::inline trainer
