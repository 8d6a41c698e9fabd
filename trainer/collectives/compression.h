#pragma once

// Compression decides which part of a rank's gradients is sent to the other ranks. A row of the
// table makes the sums of one kind; the sums are bit-identical on every rank, with any MPI.

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "encodings/study/recipe.h"
#include "trainer/collectives/group.h"

namespace detol::inline trainer {

// BucketSum sums one bucket of the gradients over the ranks. Allocates only in its constructor.
class BucketSum {
 public:
  virtual ~BucketSum() = default;

  // Begins to replace the values by the sum of what the ranks send of them. REQUIRES: the caller
  // does not touch them until finish() has returned.
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
  bool has_residual;  // a rank keeps what it does not send, for later steps
  // `residual` has an element per float of the bucket, or is empty without one; it outlives the
  // sum.
  std::unique_ptr<BucketSum> (*make)(const Recipe& recipe, Group& group, GradientBucket bucket,
                                     std::span<float> residual);
  // Returns the bytes that one such sum takes, those in which its group receives included.
  std::size_t (*bytes)(const Recipe& recipe, std::size_t floats, int ranks);
};

// Returns the rows none, fp16 and top_k, the values of training.compression.
std::span<const CompressionRow> compressions();

}  // namespace detol::inline trainer
