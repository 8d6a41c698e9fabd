#include "search/perturb.h"

#include <algorithm>
#include <cmath>

namespace detol::inline search {

Genome perturbed(const Space& space, const Genome& origin, Rng& rng) {
  const std::vector<bool> counts = space.expressed(origin);
  const double expected = static_cast<double>(std::ranges::count(counts, true));
  const double share =
      std::min(1.0, std::max(1.5, expected * rng.uniform() * rng.uniform()) / expected);
  const double size = std::pow(10, rng.uniform(-3, -0.5));
  std::vector<double> codes(origin.codes().begin(), origin.codes().end());
  for (std::size_t i = 0; i < codes.size(); ++i) {
    if (!counts[i] || !rng.chance(share)) continue;
    const Domain& domain = space.domains()[i];
    if (domain.cardinality() < 2) continue;
    if (domain.kind == DomainKind::kFloat && domain.step == 0) {
      const double u = domain.position_of(codes[i]) + size * rng.normal();
      codes[i] = domain.code_at(std::clamp(u, 0.0, std::nextafter(1.0, 0.0)));
    } else {
      codes[i] = space.other_code(i, codes[i], rng);
    }
  }
  return space.repair(std::move(codes), rng);
}

Genome mutated_until_unseen(const Space& space, Genome genome,
                            const std::unordered_set<std::uint64_t>& known, Rng& rng) {
  for (int i = 0; i < kMostMutations && known.contains(space.identity(genome)); ++i)
    genome = space.mutate(genome, rng);
  for (int i = 0; i < kMostDraws && known.contains(space.identity(genome)); ++i)
    genome = space.sample(rng);
  return genome;
}

}  // namespace detol::inline search
