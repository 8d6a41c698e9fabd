#include "search/decisions.h"

#include <algorithm>
#include <limits>

namespace detol::inline search {
namespace {

// Returns the choices in the order of the space, but every parent before its children.
std::vector<std::size_t> parents_first(const Space& space) {
  std::vector<std::size_t> order;
  std::vector<bool> placed(space.size(), false);
  while (order.size() < space.size()) {
    for (std::size_t i = 0; i < space.size(); ++i) {
      const auto& when = space.domains()[i].when;
      if (placed[i] || (when && !placed[*space.index_of(when->parent)])) continue;
      placed[i] = true;
      order.push_back(i);
    }
  }
  return order;
}

}  // namespace

Decisions::Decisions(Space space, std::size_t bins)
    : space_(std::move(space)), order_(parents_first(space_)) {
  for (const Domain& domain : space_.domains()) {
    ordered_.push_back(domain.is_ordered());
    const double most = ordered_.back() ? static_cast<double>(bins) : domain.cardinality();
    action_counts_.push_back(static_cast<std::size_t>(std::min(domain.cardinality(), most)));
  }
}

std::vector<Decision> Decisions::read(const Genome& genome) const {
  const std::vector<bool> counts = space_.expressed(genome);
  std::vector<Decision> decisions;
  for (std::size_t choice : order_) {
    if (!genome.is_active(choice)) continue;
    const double position = space_.domains()[choice].position_of(genome.codes()[choice]);
    const auto action =
        static_cast<std::size_t>(position * static_cast<double>(action_counts_[choice]));
    decisions.push_back({choice, std::min(action, action_counts_[choice] - 1), counts[choice]});
  }
  return decisions;
}

Genome Decisions::sample(const std::function<std::size_t(std::size_t)>& choose, Rng& rng) const {
  std::vector<double> codes(space_.size(), std::numeric_limits<double>::quiet_NaN());
  for (std::size_t choice : order_) {
    if (!space_.is_active(choice, codes)) continue;
    const double place = static_cast<double>(choose(choice)) + rng.uniform();
    codes[choice] =
        space_.domains()[choice].code_at(place / static_cast<double>(action_counts_[choice]));
  }
  return space_.repair(std::move(codes), rng);
}

}  // namespace detol::inline search
