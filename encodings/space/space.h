#pragma once

// Space: the free choices of a study, flat and conditional. Immutable once built;
// cheap to copy; safe to share between threads.
//
//   Space space = SpaceBuilder().add_float("lr", 1e-4, 1e-1, {.log = true}).build().value();
//
// The choices of an architecture may be bound by rules that no list of conditions can express ("at
// most nine edges"): ArchitectureRules has them, and every genome that a Space returns obeys them.

#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/result.h"
#include "core/rng.h"
#include "encodings/space/architecture_rules.h"
#include "encodings/space/domain.h"
#include "encodings/space/genome.h"
#include "encodings/space/labelled_graph.h"

namespace detol::inline encoding {

class Space {
 public:
  Space() : domains_(std::make_shared<const std::vector<Domain>>()) {}

  std::span<const Domain> domains() const { return *domains_; }
  std::size_t size() const { return domains_->size(); }

  // Returns the position of a name in domains(), or nullopt.
  std::optional<std::size_t> index_of(std::string_view name) const;

  // Counts the different genomes; infinity if a continuous float is among them.
  // Respects conditions, but not the rules of an architecture.
  double cardinality() const;

  // Draws the active choices independently and uniformly (log-uniformly where `log`).
  Genome sample(Rng& rng) const;

  // Returns the genome at a point of the unit cube, one coordinate in [0, 1) per domain; the
  // coordinates of inactive domains are ignored.
  Genome at(std::span<const double> unit_cube) const;

  // Makes a genome of codes: drops the values of inactive domains and draws missing ones.
  // Mutation and crossover edit codes freely and then call this.
  Genome repair(std::vector<double> codes, Rng& rng) const;

  // Returns the genome with these values: one for every active choice. Errors name the parameter
  // and what it accepts, or the rule of the architecture that is broken.
  Result<Genome> genome(std::span<const std::pair<std::string, Value>> assignments) const;

  // Returns a genome with these values whose other active choices are drawn uniformly; what a given
  // choice depends on is drawn from the values under which that one is active. Errors: as genome().
  Result<Genome> complete(std::span<const std::pair<std::string, Value>> assignments,
                          Rng& rng) const;

  // Changes one expressed choice of at least two values to another value (other_code). Newly
  // active choices are drawn. Returns the parent itself if nothing can change.
  Genome mutate(const Genome& parent, Rng& rng) const;

  // Returns a child that takes each group of choices from either parent with probability 1/2.
  // Choices that describe one thing are one group: all whose names agree up to their first `]`
  // ("architecture.stages[0]"); every other choice is a group of its own.
  Genome crossover(const Genome& one, const Genome& other, Rng& rng) const;

  // Returns another value of the domain: a near one of an ordered range (a normal step of a tenth
  // of it), any other of an unordered one. REQUIRES: the domain has at least two values.
  double other_code(std::size_t index, double code, Rng& rng) const;

  // Marks the active choices on which the candidate depends. Genomes that agree in all of these are
  // one candidate.
  std::vector<bool> expressed(const Genome& genome) const;

  // Returns a hash that is equal for genomes that agree in all expressed choices.
  std::uint64_t identity(const Genome& genome) const;

  // Returns the graph of the genome's architecture: equal for genomes that agree in all expressed
  // choices; nullopt where the space has no choice of an architecture. Takes microseconds.
  std::optional<LabelledGraph> graph(const Genome& genome) const;
  bool has_graph() const { return graph_ != nullptr; }

  // Returns a copy of this space that has graphs.
  Space with_graph(GraphOfCodes graph) const;

  // True if the domain at `index` is active, given the codes of its ancestors.
  bool is_active(std::size_t index, std::span<const double> codes) const;

 private:
  friend class SpaceBuilder;
  struct Parent {
    std::size_t index;
    std::vector<double> codes;  // of the parent, under which the child is active
  };

  // The `count` choices from `first` on obey `rules`.
  struct RuledRange {
    std::size_t first, count;
    std::shared_ptr<const ArchitectureRules> rules;
  };

  // Returns the codes of these values, NaN of the other choices.
  Result<std::vector<double>> codes_of(
      std::span<const std::pair<std::string, Value>> assignments) const;

  // Returns the codes that each choice without one may have, so that those with one are active;
  // none where any will do.
  Result<std::vector<std::vector<double>>> codes_for(std::span<const double> codes) const;

  // Returns an error if a choice that is given a code is inactive under these.
  Result<void> check_active(std::span<const double> given, std::span<const double> codes) const;

  // Fills codes parents first; `choose(index)` gives the code of an active domain.
  std::vector<double> fill(const std::function<double(std::size_t)>& choose) const;

  // Returns the genome of these codes after the repair by every architecture's rules.
  Genome repaired(std::vector<double> codes, Rng& rng) const;

  std::shared_ptr<const std::vector<Domain>> domains_;
  std::vector<std::optional<Parent>> parents_;  // one per domain
  std::vector<std::size_t> order_;              // every parent before its children
  std::vector<std::size_t> groups_;             // the crossover group of each domain
  std::vector<RuledRange> ruled_ranges_;
  std::shared_ptr<const GraphOfCodes> graph_;
};

// Options of one choice, for designated initialisers: {.log = true, .when = {"opt", {"sgd"}}}.
struct Choice {
  bool log = false;
  double step = 0;
  bool ordered = false;
  struct Condition {
    std::string parent;  // empty: always active
    std::vector<Value> values;
    Condition() = default;
    Condition(std::string parent_name, std::initializer_list<Value> accepted)
        : parent(std::move(parent_name)), values(accepted) {}
    // Texts convert to strings, never to bool.
    Condition(std::string parent_name, std::initializer_list<const char*> accepted)
        : parent(std::move(parent_name)), values(accepted.begin(), accepted.end()) {}
  } when = {};
};

// SpaceBuilder collects choices; build() reports the first mistake: a duplicate or empty name, an
// empty or non-finite range, log of a value that is not positive, a `when` that names
// no choice, a value that its parent cannot take, or a cycle of conditions.
class SpaceBuilder {
 public:
  SpaceBuilder& add(Domain domain);
  SpaceBuilder& add_float(std::string name, double low, double high, const Choice& choice = {});
  SpaceBuilder& add_int(std::string name, std::int64_t low, std::int64_t high,
                        const Choice& choice = {});
  SpaceBuilder& add_categorical(std::string name, std::vector<std::string> choices,
                                const Choice& choice = {});
  SpaceBuilder& add_numbers(std::string name, std::vector<double> choices,
                            const Choice& choice = {});
  SpaceBuilder& add_bool(std::string name, const Choice& choice = {});

  // Adds the choices of one architecture, with the rules between them.
  SpaceBuilder& add(std::vector<Domain> domains, std::shared_ptr<const ArchitectureRules> rules);

  Result<Space> build() const;

 private:
  std::vector<Domain> domains_;
  std::vector<Space::RuledRange> ruled_ranges_;
};

// Describes the mistake of one domain on its own, if any, as build() would.
std::optional<std::string> mistake_in(const Domain& domain);

}  // namespace detol::inline encoding
