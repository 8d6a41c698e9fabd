#pragma once

// numbered() is the body of most searchers' ask(): one proposal after the other, each a function of
// its number and of those before it.

#include <vector>

#include "search/searcher.h"

namespace detol::inline search {

// Returns trials first_id, first_id + 1, ..., `count` of them, with the genomes of propose(id). The
// searcher expects each of them.
template <typename Propose>
std::vector<Trial> numbered(Searcher& searcher, TrialId first_id, int count,
                            const Propose& propose) {
  std::vector<Trial> trials;
  for (int i = 0; i < count; ++i) {
    const TrialId id = first_id + static_cast<TrialId>(i);
    searcher.expect(trials.emplace_back(Trial{id, propose(id)}));
  }
  return trials;
}

}  // namespace detol::inline search
