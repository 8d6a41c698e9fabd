#include "search/basins.h"

#include <bit>

#include "core/hash.h"

namespace detol::inline search {
namespace {

constexpr double kOtherCategory = 0.25;

double squared_difference(const Domain& domain, double a, double b) {
  if (!domain.is_ordered()) return a == b ? 0 : kOtherCategory;
  const double difference = domain.position_of(a) - domain.position_of(b);
  return difference * difference;
}

}  // namespace

bool is_within(double radius, const Space& space, const Genome& a, const Genome& b) {
  double sum = 0, count = 0;
  for (std::size_t i = 0; i < space.size(); ++i) {
    const Domain& domain = space.domains()[i];
    if (domain.cardinality() < 2 || (!a.is_active(i) && !b.is_active(i))) continue;
    ++count;
    sum += a.is_active(i) && b.is_active(i) ? squared_difference(domain, a.codes()[i], b.codes()[i])
                                            : 1;
  }
  return sum <= radius * radius * count;
}

Branches::Branches(const Space& space) : decides_(space.size(), false) {
  for (const Domain& domain : space.domains()) {
    if (!domain.when) continue;
    const std::size_t parent = *space.index_of(domain.when->parent);
    const Domain& decision = space.domains()[parent];
    if (decides_[parent] || decision.is_ordered()) continue;
    decides_[parent] = true;
    count_ *= decision.cardinality();
  }
  if (count_ <= kMost) return;
  decides_.assign(space.size(), false);
  count_ = 1;
}

std::uint64_t Branches::of(const Genome& genome) const {
  std::uint64_t branch = 0;
  for (std::size_t i = 0; i < decides_.size(); ++i) {
    if (!decides_[i]) continue;
    const double code = genome.is_active(i) ? genome.codes()[i] : -1;
    branch = hash_combine(branch, std::bit_cast<std::uint64_t>(code));
  }
  return branch;
}

}  // namespace detol::inline search
