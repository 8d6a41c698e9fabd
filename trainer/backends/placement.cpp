#include "trainer/backends/placement.h"

#include <algorithm>
#include <cassert>

namespace detol {
namespace {

Shard nth_of(std::int64_t n, std::int64_t parts, std::int64_t total) {
  const std::int64_t whole = total / parts, rest = total % parts;
  return {n * whole + std::min(n, rest), whole + (n < rest ? 1 : 0)};
}

}  // namespace

Shard shard_of(std::int64_t total, const Group& group) {
  return nth_of(group.rank(), group.size(), total);
}

std::vector<Shard> parts_of(std::int64_t batch, const Placement& placement) {
  const std::int64_t smallest = batch / placement.group->size();
  assert(smallest >= 1 && placement.micro_batches >= 1);
  const Shard shard = shard_of(batch, *placement.group);
  const std::int64_t count = std::min<std::int64_t>(placement.micro_batches, smallest);
  std::vector<Shard> parts;
  for (std::int64_t n = 0; n < count; ++n) {
    parts.push_back(nth_of(n, count, shard.count));
    parts.back().first += shard.first;
  }
  return parts;
}

std::int64_t largest_part(std::int64_t batch, const Placement& placement) {
  const auto parts = static_cast<std::int64_t>(parts_of(batch, placement).size());
  const std::int64_t shares = placement.group->size() * parts;
  return (batch + shares - 1) / shares;
}

}  // namespace detol
