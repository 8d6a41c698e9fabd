#pragma once

// The starting list of a search with sources: a few trials of which, in every source, at least one
// is good (zero-shot portfolio; Winkelmolen, Ivkin, Bozkurt and Karnin, 2020, "Practical and sample
// efficient zero-shot HPO", arXiv 2007.13382; Feurer et al., 2022, "Auto-Sklearn 2.0", JMLR).
//
// Each next trial is the one, among the best of every source, that raises the mean over the sources
// of the best rank so far most; a rank is the share of the source's trials that its model predicts
// to be worse. The list ends where no trial raises it by kLeastGain. It begins with the best trial
// of all sources of the search's own data: what was measured there needs no model. Of a single
// source it is the best trial alone: the searcher's model knows what is worth trying next.
//
//   ranks of a in two sources 1 and 0.5, of b 0.4 and 0.9, of c 0.9 and 0.8: first c (mean 0.85),
//   then a (0.9, b would give 0.9, too), then b (0.95)

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "search/sources.h"

namespace detol::inline search {

inline constexpr std::size_t kMostListed = 4;
inline constexpr std::string_view kStartingListProposer = "warm_start";

// Returns the list. Fits a model of each source. A function of its arguments.
std::vector<Genome> starting_list(const Space& space, std::span<const MappedSource> sources,
                                  std::uint64_t seed);

// Returns a searcher that proposes the list's genomes as trials 0, 2, 4, ..., unless they are known
// by then, and lets `searcher` propose all others. It stops where another trial is better than all
// of the list so far: then the sources mislead, or the searcher knows more already. It forwards
// everything else.
std::unique_ptr<Searcher> with_starting_list(std::unique_ptr<Searcher> searcher, const Space& space,
                                             const SearcherSettings& settings);

}  // namespace detol::inline search
