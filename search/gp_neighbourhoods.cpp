#include "search/gp_neighbourhoods.h"

namespace detol::inline search {

std::span<const LazyGp> GpNeighbourhoods::around(const Genome& genome) {
  if (!are_used()) return {};
  const LazyGp& process = in_.model.output(0);
  const Point x = in_.features.of(genome);
  for (const Neighbourhood& each : known_) {
    double covariance = 0;
    process.kernel().row(x, each.centre, std::span(&covariance, 1));
    if (covariance >= kAlike * process.kernel().variance()) return each.processes;
  }
  Neighbourhood& added = known_.emplace_back(Neighbourhood{in_.features.empty_points(), {}});
  added.centre.push_back(x);
  for (std::size_t i = 0; i < in_.model.fits().size(); ++i)
    added.processes.push_back(in_.model.near(i, x, kRows));
  return added.processes;
}

}  // namespace detol::inline search
