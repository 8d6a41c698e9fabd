#pragma once

// A race of a searcher that begins with sources against an equal one that begins without, for
// searchers that cannot weigh a source by what the new study's own trials say about it: a policy
// that was learned from misleading trials proposes what they liked and never sees anything else.
//
// Of the first kRaced trials each proposes every other one. From then on the one proposes whose
// raced trials were better: the share of pairs (one trial of each) that it won, a tie being half a
// win (the statistic of Mann and Whitney, 1947, Annals of Mathematical Statistics 18). So sources
// that mislead cost kRaced / 2 trials.
//
// Both are told everything but for the raced trials that the sources proposed, which the searcher
// without sources never hears of: bad trials far from its own policy taught it little, and cost it
// much (experiments/meta_learning/LOG.md).
//
//   losses with sources 0.2 0.3, without 0.4 0.25: of four pairs the sources win three
//
// Trials of the starting list have even numbers, as those of the searcher with sources, and count
// as its trials. Those of others, such as the other members of a portfolio, do not count; where
// none counts, the sources stay.

#include <functional>
#include <memory>
#include <string_view>

#include "search/searcher.h"

namespace detol::inline search {

inline constexpr TrialId kRaced = 8;

// Returns make(settings) if no source can be used, else the race of it and of the same without
// sources. `name` is the searcher's. Price: twice the memory and the tells.
std::unique_ptr<Searcher> raced(
    std::string_view name, const Space& space, const SearcherSettings& settings,
    const std::function<std::unique_ptr<Searcher>(const SearcherSettings&)>& make);

}  // namespace detol::inline search
