#include "search/gp_candidates.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "search/perturb.h"

namespace detol::inline search {
namespace {

constexpr std::size_t kIncumbents = 5;
constexpr std::size_t kOrdinaryColumns = 512;  // of features
constexpr std::size_t kFewestCandidates = 16;
constexpr double kRedrawn = 20;  // choices of a candidate of the region, on average at most

// Returns the front of the observations with the least violation.
std::vector<std::size_t> front_of_least_violation(const Observed& observed) {
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t j = 0; j < observed.size(); ++j) least = std::min(least, observed.violation(j));
  std::vector<std::size_t> places;
  std::vector<Losses> losses;
  for (std::size_t j = 0; j < observed.size(); ++j) {
    if (observed.violation(j) > least) continue;
    places.push_back(j);
    Losses& point = losses.emplace_back();
    for (std::size_t i = 0; i < observed.objectives; ++i) point.push_back(observed.outcomes[i][j]);
  }
  std::vector<std::size_t> front = nondominated(losses);
  for (std::size_t& place : front) place = places[place];
  return front;
}

// Returns the best observations; with several objectives some of the front, drawn at random.
std::vector<std::size_t> incumbents(const ProposalInput& input, Rng& rng) {
  const Observed& observed = input.model.observed();
  if (observed.objectives == 1) return observed.best(kIncumbents);
  std::vector<std::size_t> front = front_of_least_violation(observed);
  rng.shuffle(std::span(front));
  front.resize(std::min(front.size(), kIncumbents));
  return front;
}

// Returns the choices that count and can take another value.
std::vector<std::size_t> open_choices(const Space& space, const Genome& genome) {
  const std::vector<bool> counts = space.expressed(genome);
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] && space.domains()[i].cardinality() > 1) open.push_back(i);
  }
  return open;
}

}  // namespace

std::size_t affordable_candidates(std::size_t count, const Features& features) {
  const std::size_t columns = features.number_columns() + features.category_columns();
  if (columns <= kOrdinaryColumns) return count;
  return std::max(std::min(count, kFewestCandidates), count * kOrdinaryColumns / columns);
}

GpRegion region_of(const ProposalInput& input, Rng& rng) {
  GpRegion region{.centre = input.restart ? input.restart->centre : incumbents(input, rng).front(),
                  .low = std::vector<double>(input.space.size(), 0),
                  .high = std::vector<double>(input.space.size(), 1)};
  const Genome& centre = input.genomes[region.centre];
  const std::vector<double> lengths =
      input.features.by_domain(input.model.output(0).kernel().metric().axis_lengths());
  double mean = 0, count = 0;
  for (double length : lengths) {
    if (length > 0) mean += std::log(length), ++count;
  }
  mean = std::exp(mean / std::max(1.0, count));
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    if (!(lengths[i] > 0) || !centre.is_active(i)) continue;
    const double u = input.space.domains()[i].position_of(centre.codes()[i]);
    const double half = input.side / 2 * lengths[i] / mean;
    region.low[i] = std::clamp(u - half, 0.0, 1 - 1e-9);
    region.high[i] = std::clamp(u + half, region.low[i] + 1e-9, 1.0);
  }
  return region;
}

std::vector<Genome> candidates_in(const GpRegion& region, const ProposalInput& input, Rng& rng) {
  const std::size_t n = input.model.output(0).rows();
  const std::size_t count = affordable_candidates(
      std::clamp<std::size_t>(40'000'000 / (n * n + 1), 64, 500), input.features);
  const Genome& centre = input.genomes[region.centre];
  std::vector<std::size_t> open = open_choices(input.space, centre);
  if (input.restart)
    std::erase_if(open, [&](std::size_t i) { return input.restart->branches.decides(i); });
  if (open.empty()) return {centre};
  const double share = std::min(1.0, kRedrawn / static_cast<double>(open.size()));
  std::vector<Genome> genomes;
  for (std::size_t k = 0; k < count; ++k) {
    std::vector<double> codes(centre.codes().begin(), centre.codes().end());
    const std::size_t sure = open[rng.below(open.size())];
    for (std::size_t i : open) {
      const Domain& domain = input.space.domains()[i];
      const bool is_number = region.low[i] > 0 || region.high[i] < 1;
      const double chance = is_number ? share : std::min(0.5, input.side) * share;
      if (i != sure && !rng.chance(chance)) continue;
      codes[i] = is_number ? domain.code_at(rng.uniform(region.low[i], region.high[i]))
                           : input.space.other_code(i, codes[i], rng);
    }
    genomes.push_back(input.space.repair(std::move(codes), rng));
  }
  return genomes;
}

std::vector<Genome> candidates_near_best(const ProposalInput& input, Rng& rng) {
  const std::size_t n = input.model.output(0).rows();
  const std::size_t affordable =
      std::clamp<std::size_t>(20'000'000 / (n * n + 1) / kIncumbents, 8, 60);
  const std::vector<std::size_t> parents = incumbents(input, rng);
  const std::size_t each =
      affordable_candidates(kIncumbents * affordable, input.features) / kIncumbents;
  std::vector<Genome> locals;
  for (std::size_t parent : parents) {
    for (std::size_t i = 0; i < each; ++i) {
      const Genome& origin = input.genomes[parent];
      if (i % 8 == 7 && parents.size() > 1) {
        const Genome& other = input.genomes[parents[rng.below(parents.size())]];
        locals.push_back(input.space.crossover(origin, other, rng));
      } else {
        locals.push_back(perturbed(input.space, origin, rng));
      }
    }
  }
  return locals;
}

}  // namespace detol::inline search
