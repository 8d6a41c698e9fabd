#pragma once

// Maps the trials of earlier studies into the space of a new one, for the searchers that start from
// them (SearcherSettings::sources). Choices are matched by their names:
//
//   a number outside of the new range   is clamped to it, and to its grid
//   a category that the new one lacks   drops the trial
//   a choice that the source lacks      is drawn at random, and models of the source ignore it
//   a choice of the source alone        is ignored
//
// A source that shares no choice of two values or more, or has fewer than kLeastSourceTrials
// measured trials, or none that differ in their losses, is left out. A function of its arguments.

#include <cstdint>
#include <span>
#include <vector>

#include "search/searcher.h"
#include "surrogate/pareto.h"

namespace detol::inline search {

inline constexpr std::size_t kLeastSourceTrials = 3;

struct SourceTrial {
  Genome genome;  // of the new space
  Losses losses;  // one per objective, smaller is better, never NaN
};

struct MappedSource {
  std::vector<bool> shared;         // by domain of the new space
  std::vector<SourceTrial> trials;  // the best by the first objective first
  bool has_same_data = false;       // as the search
};

// Returns the sources that can be used, in their order. O(n d) for n trials of d choices.
std::vector<MappedSource> mapped_sources(const Space& space, const SearcherSettings& settings);

// Returns candidates that were good in the sources: the best of each in turn, without repeats.
std::vector<Genome> best_of_sources(const Space& space, std::span<const MappedSource> sources);

}  // namespace detol::inline search
