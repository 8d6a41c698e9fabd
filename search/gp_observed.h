#pragma once

// Observed: what the model of the searcher `gp` was told, as it was told, and which of it counts
// where not all can be afforded. A value type.

#include <cstddef>
#include <optional>
#include <vector>

#include "core/rng.h"
#include "surrogate/points.h"

namespace detol::inline search {

std::vector<std::size_t> indices_below(std::size_t count);  // 0, 1, 2, ...

// OutputBounds: what outputs are to be below of.
struct OutputBounds {
  std::size_t constraints = 0;  // the last outputs: what they are exceeded by; <= 0: kept
  // One per objective or none: losses beyond which a front does not count.
  std::vector<std::optional<double>> references = {};
};

struct Observed {
  Points points;
  std::vector<std::vector<double>> outcomes;  // per output; smaller is better
  std::size_t objectives = 0;  // outputs after these are logarithms of work, not transformed
  std::size_t sources = 0;
  std::vector<std::vector<double>> means =
      {};  // per objective, row-major: the sources' predictions
  OutputBounds bounds = {};

  std::size_t size() const { return points.size(); }
  std::size_t first_constraint() const { return outcomes.size() - bounds.constraints; }
  double violation(std::size_t observation) const;  // the sum of what exceeds; 0: all are kept
  // Returns the `most` best observations by the first objective, the best first, after those of
  // less violation.
  std::vector<std::size_t> best(std::size_t most) const;

  // Returns at most `most` observations that the fit of an output uses: a third of these are the
  // best, the others random. Of a constraint those nearest to its bound are the best.
  std::vector<std::size_t> chosen_for_fit(std::size_t output, std::size_t most, Rng rng) const;

  // Returns at most `most` observations that the processes hold, ascending: half of these are the
  // best (of each output in turn), a quarter the latest, the others random.
  std::vector<std::size_t> chosen_members(std::size_t most, Rng rng) const;

 private:
  // The first are those that the output must know best.
  void sort_by_worth(std::vector<std::size_t>& order, std::size_t output) const;
};

}  // namespace detol::inline search
