#pragma once

// Searcher: proposes trials and learns from their outcomes (ask and tell).
//
// A Searcher is a pure state machine: it never trains, sleeps, reads a clock or opens a
// file. Trial n draws from random stream n of the study's seed, so that given one seed and
// one sequence of events (what was expected, told and absorbed) it proposes the same trials,
// whatever the number of workers, and applying a ledger rebuilds it without asking anything
// again. Not thread-safe.
//
//   auto searcher =
//       make_searcher("evolution", space, {.seed = 7, .objectives = {minimize("loss")}}).value();
//   for (const Trial& trial : searcher->ask(0, 4))
//     searcher->tell(trial, Measured{.values = {f(trial.genome)}});

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "encodings/space/space.h"
#include "encodings/space/trial.h"

namespace detol {

// What a model learned at one moment from all it had been told: recorded in the ledger, then
// absorbed.
struct Refit {
  std::string model;               // whose: the name of a searcher, "gp"
  std::uint64_t version = 0;       // of this model, from 1
  std::uint64_t observations = 0;  // that it had then
  std::vector<double> parameters;  // as the model writes them

  // Saves absorb() the making of what `parameters` say, and is used up by it; not recorded.
  struct Prepared {
    virtual ~Prepared() = default;
  };
  std::shared_ptr<Prepared> prepared = {};
};

// Slow work apart from the searcher: it refers to nothing of it, so it may run on any thread
// while the searcher is asked and told. A pure function: run again it gives the same.
using RefitJob = std::function<Refit()>;

class Searcher {
 public:
  virtual ~Searcher() = default;

  // Proposes up to `count` trials, numbered from `first_id`; fewer (even none) means "tell
  // me more first". They are expected from now on; asking changes nothing else: four at once
  // are the four asked one by one.
  // REQUIRES: no trial at or above `first_id` was asked for or told before.
  virtual std::vector<Trial> ask(TrialId first_id, int count) = 0;

  // Reports how a trial of this space ended, whoever proposed it. Tells may arrive in any
  // order; a later one about the same trial replaces the earlier.
  virtual void tell(const Trial& trial, const Outcome& outcome) = 0;

  // Notes that a trial was proposed, by whomever, and is being measured until it is told. What
  // ask() returned is noted already; noting a trial twice, or after its tell, changes nothing.
  virtual void expect(const Trial&) {}

  // Work that is due and that no ask should wait for, if there is any. It is handed out once, and
  // nothing more until its result was absorbed. Whoever calls this runs every job that it returns;
  // of a searcher on which it was never called, ask() does the same work itself.
  virtual std::optional<RefitJob> background() { return std::nullopt; }

  // Takes over the result of a job, of this searcher or of one that was told the same before it;
  // the result of another model changes nothing.
  virtual void absorb(const Refit&) {}
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
