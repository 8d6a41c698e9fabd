#include "trainer/backends/placement.h"

#include <algorithm>
#include <cassert>

namespace detol::inline trainer {
namespace {

Shard nth_of(std::int64_t n, std::int64_t pieces, std::int64_t total) {
  const std::int64_t whole = total / pieces, rest = total % pieces;
  return {n * whole + std::min(n, rest), whole + (n < rest ? 1 : 0)};
}

}  // namespace

Shard shard_of(std::int64_t total, const Group& group) {
  return nth_of(group.rank(), group.size(), total);
}

std::vector<Shard> micro_batches_of(std::int64_t batch, const Placement& placement) {
  const std::int64_t smallest = batch / placement.group->size();
  assert(smallest >= 1 && placement.micro_batches >= 1);
  const Shard shard = shard_of(batch, *placement.group);
  const std::int64_t count = std::min<std::int64_t>(placement.micro_batches, smallest);
  std::vector<Shard> micro_batches;
  for (std::int64_t n = 0; n < count; ++n) {
    micro_batches.push_back(nth_of(n, count, shard.count));
    micro_batches.back().first += shard.first;
  }
  return micro_batches;
}

std::int64_t largest_micro_batch(std::int64_t batch, const Placement& placement) {
  const auto micro_batches = static_cast<std::int64_t>(micro_batches_of(batch, placement).size());
  const std::int64_t shares = placement.group->size() * micro_batches;
  return (batch + shares - 1) / shares;
}

}  // namespace detol::inline trainer
