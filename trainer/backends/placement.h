#pragma once

// Placement decides which images of every batch a rank of a group trains, and in how many
// micro-batches.

#include <cstdint>
#include <vector>

#include "trainer/collectives/group.h"
#include "trainer/data/shard.h"

namespace detol::inline trainer {

struct AlgorithmChoices;  // algorithm_choices.h

// Returns this rank's shard of `total` images. Shards are contiguous and do not overlap; their
// sizes differ by at most one, the larger ones first.
Shard shard_of(std::int64_t total, const Group& group);

// Placement places one rank in its group.
struct Placement {
  Group* group = &alone();  // outlives the executable
  int micro_batches = 1;    // of the shard, run in turn to save memory
  // The algorithms of shapes, the same on every rank. A shape without a choice, or every shape if
  // this is null, is computed by the backend's fixed rule.
  const AlgorithmChoices* choices = nullptr;
};

// Divides a rank's shard of a batch into `placement.micro_batches` micro-batches or, where a shard
// has fewer images, into as many as the smallest shard has images. Every rank has equally many;
// none is larger than the first. REQUIRES: batch >= size of the group, micro_batches >= 1.
std::vector<Shard> micro_batches_of(std::int64_t batch, const Placement& placement);

// Returns the images of the leader's first micro-batch, the largest of any rank. Decisions that
// depend on the size of a run, but must not on the rank, use it. REQUIRES: as above.
std::int64_t largest_micro_batch(std::int64_t batch, const Placement& placement);

}  // namespace detol::inline trainer
