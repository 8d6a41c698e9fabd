#pragma once

// Placement: which images of every batch a rank of a group trains, and in how many parts.

#include <cstdint>
#include <vector>

#include "trainer/collectives/group.h"
#include "trainer/data/shard.h"

namespace detol {

struct Choices;  // choices.h

// What of `total` images is this rank's: contiguous, without overlap, sizes that differ by at
// most one, the larger ones first.
Shard shard_of(std::int64_t total, const Group& group);

// How a rank goes about a batch.
struct Placement {
  Group* group = &alone();  // outlives whoever is placed
  int micro_batches = 1;    // parts of the shard, one after the other: less memory
  // By which ways shapes are computed, the same on every rank; what it has no word on, and all of
  // it where there is none, goes by the backend's fixed rule.
  const Choices* choices = nullptr;
};

// The parts of a batch that a rank trains in one step: its shard, in micro_batches parts or, where
// a shard has fewer images, in one part per image of the smallest. Equally many on every rank;
// none is larger than the first. REQUIRES: batch >= size of the group, micro_batches >= 1.
std::vector<Shard> parts_of(std::int64_t batch, const Placement& placement);

// Images of the leader's first part, the largest of any rank: what is decided by the size of a
// run, and must not depend on the rank, goes by it. REQUIRES: as above.
std::int64_t largest_part(std::int64_t batch, const Placement& placement);

}  // namespace detol
