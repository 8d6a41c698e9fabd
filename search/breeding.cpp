#include "search/breeding.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace detol::inline search {
namespace {

// Returns true if values between two others make sense.
bool is_number(const Domain& domain) {
  return domain.is_ordered() && domain.cardinality() > 2;
}

double code_near(const Domain& domain, double position) {
  return domain.code_at(std::clamp(position, 0.0, std::nextafter(1.0, 0.0)));
}

// Draws the distance of two children in units of their parents' distance: about 1.
double spread_factor(double eta, Rng& rng) {
  const double u = rng.uniform();
  const double ratio = u <= 0.5 ? 2 * u : 1 / (2 * (1 - u));
  return std::pow(ratio, 1 / (eta + 1));
}

// Draws a step in (-1, 1), usually a small one.
double polynomial_step(double eta, Rng& rng) {
  const double u = rng.uniform();
  const double power = 1 / (eta + 1);
  return u < 0.5 ? std::pow(2 * u, power) - 1 : 1 - std::pow(2 * (1 - u), power);
}

// Moves numbers that both parents have, each with probability 1/2, to near the parent it came from.
void blend(const Space& space, std::vector<double>& codes, const Genome& one, const Genome& other,
           double eta, Rng& rng) {
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const Domain& domain = space.domains()[i];
    const double a = one.codes()[i], b = other.codes()[i];
    const bool differ = a < b || a > b;  // false if one is inactive (NaN)
    if (!differ || !is_number(domain) || rng.chance(0.5)) continue;
    const double from = domain.position_of(codes[i]);
    const double to = domain.position_of(codes[i] == a ? b : a);
    const double beta = spread_factor(eta, rng);
    codes[i] = code_near(domain, ((1 + beta) * from + (1 - beta) * to) / 2);
  }
}

// Changes each of the n choices that count with probability 1 / n.
void mutate_some(const Space& space, std::vector<double>& codes, const std::vector<bool>& counts,
                 double eta, Rng& rng) {
  std::vector<std::size_t> able;
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const bool is_active = codes[i] == codes[i];
    if (counts[i] && is_active && space.domains()[i].cardinality() > 1) able.push_back(i);
  }
  for (std::size_t i : able) {
    if (!rng.chance(1.0 / static_cast<double>(able.size()))) continue;
    const Domain& domain = space.domains()[i];
    const double moved =
        is_number(domain)
            ? code_near(domain, domain.position_of(codes[i]) + polynomial_step(eta, rng))
            : codes[i];
    codes[i] = moved == codes[i] ? space.other_code(i, codes[i], rng) : moved;
  }
}

}  // namespace

Genome child_of(const Space& space, const Genome& one, const Genome& other,
                const Breeding& breeding, Rng& rng) {
  Genome child = one;
  if (rng.chance(breeding.crossover_rate)) {
    const Genome mixed = space.crossover(one, other, rng);
    std::vector<double> codes(mixed.codes().begin(), mixed.codes().end());
    blend(space, codes, one, other, breeding.crossover_eta, rng);
    child = space.repair(std::move(codes), rng);
  }
  std::vector<double> codes(child.codes().begin(), child.codes().end());
  mutate_some(space, codes, space.expressed(child), breeding.mutation_eta, rng);
  return space.repair(std::move(codes), rng);
}

}  // namespace detol::inline search
