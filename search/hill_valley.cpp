#include "search/hill_valley.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "search/basins.h"

namespace detol::inline search {
namespace {

constexpr int kSteps = 10;       // of the line
constexpr double kRidge = 0.05;  // least rise between two basins, deviations of the outcomes

bool have_one_structure(const Space& space, const Genome& a, const Genome& b) {
  for (std::size_t i = 0; i < space.size(); ++i) {
    if (a.is_active(i) != b.is_active(i)) return false;
    if (a.is_active(i) && !space.domains()[i].is_ordered() && a.codes()[i] != b.codes()[i])
      return false;
  }
  return true;
}

// Returns the genome at a share of the way from a to b.
Genome between(const Space& space, const Genome& a, const Genome& b, double share) {
  std::vector<double> codes(a.codes().begin(), a.codes().end());
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const Domain& domain = space.domains()[i];
    if (!a.is_active(i) || a.codes()[i] == b.codes()[i]) continue;
    const double from = domain.position_of(a.codes()[i]), to = domain.position_of(b.codes()[i]);
    codes[i] = domain.code_at(from + share * (to - from));
  }
  Rng unused(0);
  return space.repair(std::move(codes), unused);
}

}  // namespace

bool is_one_basin(const Space& space, const Features& features, const GpModel& model,
                  const Genome& a, const Genome& b) {
  if (!have_one_structure(space, a, b)) return false;
  Points line = features.empty_points();
  for (int i = 0; i <= kSteps; ++i)
    line.push_back(features.of(between(space, a, b, static_cast<double>(i) / kSteps)));
  const std::vector<double> means = model.means(0, line);
  return std::ranges::max(means) <= std::max(means.front(), means.back()) + kRidge;
}

}  // namespace detol::inline search
