#pragma once

// Searcher: proposes trials and learns from their outcomes (ask and tell).
//
// A Searcher is a pure state machine: it never trains, sleeps, reads a clock or opens a
// file. Trial n draws from random stream n of the study's seed, so that given one seed, the same
// sources and one sequence of events (the trials expected and told, the refits absorbed) it
// proposes the same trials, for any number of workers, and replaying a ledger rebuilds it without a
// call of ask().
// Not thread-safe.
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
#include <utility>
#include <vector>

#include "core/result.h"
#include "encodings/space/space.h"
#include "encodings/space/trial.h"

namespace detol::inline search {

// Refit: the parameters that a model fitted to its observations at one moment. The ledger records
// it, then absorb() uses it.
struct Refit {
  std::string model;               // the name of the searcher, "gp"
  std::uint64_t version = 0;       // counts this model's refits, from 1
  std::uint64_t observations = 0;  // number of observations at the fit
  std::vector<double> parameters;  // in the model's own order

  // Prepared: state computed from `parameters` in the background, which absorb() takes; not
  // recorded.
  struct Prepared {
    virtual ~Prepared() = default;
  };
  std::shared_ptr<Prepared> prepared = {};
};

// RefitJob: slow work that shares no state with the searcher, so that any thread may run it while
// the searcher is asked and told. A pure function: a second run returns the same.
using RefitJob = std::function<Refit()>;

// Explanation: what a searcher's model predicts of a candidate. Predictions are of the objectives,
// in their units and order; none before the model is fitted.
struct Explanation {
  std::string model;  // the name of the searcher that has it, "gp"
  struct Predicted {
    double value = 0;      // the median
    double deviation = 0;  // half the width between the quantiles of 16 % and 84 %
  };
  std::vector<Predicted> predictions = {};
  // What the searcher maximises, on the scale of its model: the logarithm of the expected
  // improvement, or what its options say.
  double acquisition = 0;
  std::optional<double> feasibility = {};  // probability that all constraints are kept
  std::optional<double> success = {};      // probability of an outcome, where some trials failed
};

class Searcher {
 public:
  virtual ~Searcher() = default;

  // Proposes up to `count` trials, numbered from `first_id`; fewer, even none, if the searcher
  // needs more outcomes first. They are pending from now on; asking changes nothing else: one call
  // for four trials equals four calls for one. REQUIRES: no trial at or above `first_id` was asked
  // for or told before.
  virtual std::vector<Trial> ask(TrialId first_id, int count) = 0;

  // Reports how a trial of this space ended, whichever searcher proposed it. Tells may arrive in
  // any order; a later one about the same trial replaces the earlier.
  virtual void tell(const Trial& trial, const Outcome& outcome) = 0;

  // Marks a trial, whichever searcher proposed it, as pending until it is told. Trials that ask()
  // returned are pending already; a second call, or one after the tell, changes nothing. A pending
  // candidate is not proposed again while the space has enough others.
  virtual void expect(const Trial&) {}

  // Returns a job that is due and that no ask should wait for, if there is one: each job once, and
  // the next one after its result was absorbed. The caller runs every job that it gets. A searcher
  // on which background() was never called does the same work in ask(): a long job in steps, one
  // for each outcome that was told since it was due, so that no ask waits for all of it.
  virtual std::optional<RefitJob> background() { return std::nullopt; }

  // Uses the result of a job of this searcher, or of an equal searcher that was told the same
  // before the job; the result of another model changes nothing.
  virtual void absorb(const Refit&) {}

  // Returns how much of its predictions the searcher takes from the sources of its settings, as far
  // as they agree with what it was told: 0 (nothing) to 1.
  virtual double trust_in_sources() { return 0; }

  // Returns what the searcher's model, with what was told and is expected now, says of a candidate
  // that is neither; nullopt if it has no model. The trial's proposer is the searcher that
  // proposed it. Changes no proposal.
  virtual std::optional<Explanation> explain(const Trial&) { return std::nullopt; }
};

// Source: an earlier study, from whose trials a new search starts better. Its space may differ:
// choices are matched by their names (search/sources.h). The outcomes have the values of the new
// study's objectives, in their order; their scale and offset do not matter.
struct Source {
  std::string name;
  Space space;                                      // of the history's genomes
  std::vector<std::pair<Genome, Outcome>> history;  // in any order
  bool has_same_data = false;                       // as the search: their values compare
};

struct SearcherSettings {
  std::uint64_t seed = 0;
  std::vector<Objective> objectives;           // at least one
  std::map<std::string, std::string> options;  // {"population", "32"}: the algorithm's own settings
  std::vector<Source> sources = {};            // earlier studies; those that do not fit are ignored
  std::size_t constraints = 0;  // of Measured::excesses; a trial that exceeds one is never the best
  // Returns whether a child begins with all that its parent has learned; null: none does. Searchers
  // that mutate prefer such children.
  std::function<bool(const Genome& parent, const Genome& child)> preserves = nullptr;
};

struct SearcherRow {
  std::string_view name;     // search.algorithm
  std::string_view summary;  // shown by `detol search --help`
  Result<std::unique_ptr<Searcher>> (*make)(const Space& space, const SearcherSettings& settings);
};

// Returns every searcher of this build, in the order `detol search --help` prints them.
std::span<const SearcherRow> searchers();

// Makes a searcher. With sources its first proposals are, every other one, good in the sources
// (search/starting_list.h). Errors: an unknown name (kUsage, with a did-you-mean); an unknown or
// impossible option, no objective (kInput).
Result<std::unique_ptr<Searcher>> make_searcher(std::string_view name, const Space& space,
                                                const SearcherSettings& settings);

}  // namespace detol::inline search
