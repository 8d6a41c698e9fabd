#pragma once

// The paper's search (arXiv 2001.05726), as a Searcher: random points first, then the local maxima
// of the expected improvement on the best outcome by more than 0.01, best first. Several trials of
// one ask are as many maxima of one posterior: pending trials have no fantasy values.
//
//   lag 0: the length scale stays 1, in raw units    "lazy"
//   lag 1: it is fitted anew after each observation  "classical"
//   lag l: after every l-th, for one suggestion      "lag l"
//
// L-BFGS climbs to the maxima of the improvement's logarithm, from the best of 1,000 uniform points
// and from near the best measured point. One objective, minimised; failed trials are ignored. Cost:
// O(n^2) per tell and climb; a refit O(n^3).

#include <cstdint>
#include <memory>

#include "search/searcher.h"

namespace detol {

struct PaperSettings {
  std::uint64_t seed = 0;
  int startup = 1;  // random points
  int lag = 0;
};

// REQUIRES: a space of unconditional floats, none of them logarithmic.
std::unique_ptr<Searcher> make_paper_method(const Space& space, const PaperSettings& settings);

}  // namespace detol
