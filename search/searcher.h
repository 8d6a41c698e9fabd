#pragma once

// Searcher: proposes trials and learns from their outcomes (ask and tell).
//
// A Searcher is a pure state machine: it never trains, sleeps, reads a clock or opens a
// file. Trial n draws from random stream n of the study's seed, so that given one seed and
// one sequence of tells it proposes the same trials, whatever the number of workers, and
// applying a ledger rebuilds it without asking anything again. Not thread-safe.
//
//   auto searcher =
//       make_searcher("evolution", space, {.seed = 7, .objectives = {minimize("loss")}}).value();
//   for (const Trial& trial : searcher->ask(0, 4))
//     searcher->tell(trial, Measured{.values = {f(trial.genome)}});

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "encodings/space.h"
#include "encodings/trial.h"

namespace detol {

class Searcher {
 public:
  virtual ~Searcher() = default;

  // Proposes up to `count` trials, numbered from `first_id`; fewer (even none) means "tell
  // me more first". Asking changes nothing: four at once are the four asked one by one.
  // REQUIRES: no trial at or above `first_id` was asked for or told before.
  virtual std::vector<Trial> ask(TrialId first_id, int count) = 0;

  // Reports how a trial of this space ended, whoever proposed it. Tells may arrive in any
  // order; a later one about the same trial replaces the earlier.
  virtual void tell(const Trial& trial, const Outcome& outcome) = 0;
};

struct SearcherSettings {
  std::uint64_t seed = 0;
  std::vector<Objective> objectives;           // at least one
  std::map<std::string, std::string> options;  // {"population", "32"}: the algorithm's own settings
};

struct SearcherRow {
  std::string_view name;     // search.algorithm
  std::string_view summary;  // shown by `detol search --help`
  Result<std::unique_ptr<Searcher>> (*make)(const Space& space, const SearcherSettings& settings);
};

// Every searcher detol knows, in the order `detol search --help` prints them.
std::span<const SearcherRow> searchers();

// Errors: an unknown name (kUsage, with a did-you-mean); an unknown or impossible option,
// no objective (kInput).
Result<std::unique_ptr<Searcher>> make_searcher(std::string_view name, const Space& space,
                                                const SearcherSettings& settings);

}  // namespace detol
