#include "encodings/space/space.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>

#include "core/hash.h"
#include "core/table.h"

namespace detol::inline encoding {
namespace {

constexpr double kInactive = std::numeric_limits<double>::quiet_NaN();
constexpr int kMostRepairs = 16;  // attempts of a mutation whose child equals its parent

// Returns the name of a choice's crossover group: the name up to its first `]`, or all of it.
std::string_view group_name(std::string_view name) {
  const std::size_t end = name.find(']');
  return end == std::string_view::npos ? name : name.substr(0, end);
}

}  // namespace

std::optional<std::size_t> Space::index_of(std::string_view name) const {
  const auto at = std::ranges::find(*domains_, name, &Domain::name);
  if (at == domains_->end()) return std::nullopt;
  return static_cast<std::size_t>(at - domains_->begin());
}

bool Space::is_active(std::size_t index, std::span<const double> codes) const {
  const auto& parent = parents_[index];
  return !parent || std::ranges::find(parent->codes, codes[parent->index]) != parent->codes.end();
}

std::vector<double> Space::fill(const std::function<double(std::size_t)>& choose) const {
  std::vector<double> codes(size(), kInactive);
  for (std::size_t index : order_) {
    if (is_active(index, codes)) codes[index] = choose(index);
  }
  return codes;
}

Genome Space::repaired(std::vector<double> codes, Rng& rng) const {
  for (const RuledRange& range : ruled_ranges_)
    range.rules->repair(std::span(codes).subspan(range.first, range.count), rng);
  return Genome(domains_, std::move(codes));
}

Genome Space::sample(Rng& rng) const {
  return repaired(
      fill([&](std::size_t index) { return (*domains_)[index].code_at(rng.uniform()); }), rng);
}

Genome Space::at(std::span<const double> unit_cube) const {
  assert(unit_cube.size() == size());
  Rng rng(hash64(std::as_bytes(unit_cube)));
  return repaired(
      fill([&](std::size_t index) { return (*domains_)[index].code_at(unit_cube[index]); }), rng);
}

Genome Space::repair(std::vector<double> codes, Rng& rng) const {
  assert(codes.size() == size());
  return repaired(fill([&](std::size_t index) {
                    const Domain& domain = (*domains_)[index];
                    return domain.contains(codes[index]) ? codes[index]
                                                         : domain.code_at(rng.uniform());
                  }),
                  rng);
}

double Space::other_code(std::size_t index, double code, Rng& rng) const {
  const Domain& domain = (*domains_)[index];
  if (domain.is_ordered()) {
    for (int attempt = 0; attempt < 16; ++attempt) {
      const double moved = domain.position_of(code) + 0.1 * rng.normal();
      const double reflected = std::abs(std::fmod(std::abs(moved), 2.0) -
                                        (std::fmod(std::abs(moved), 2.0) > 1 ? 2.0 : 0.0));
      const double next = domain.code_at(std::min(reflected, std::nextafter(1.0, 0.0)));
      if (next != code) return next;
    }
  }
  if (domain.is_numeric()) {
    // The grid is too coarse for small steps: it takes one step up or down.
    const double place = std::round((code - domain.low) / domain.step);
    const bool up = place == 0 || (place + 1 < domain.cardinality() && rng.chance(0.5));
    return std::min(domain.low + (up ? place + 1 : place - 1) * domain.step, domain.high);
  }
  const auto count = static_cast<std::uint64_t>(domain.cardinality());
  const auto drawn = static_cast<double>(rng.below(count - 1));
  return drawn < code ? drawn : drawn + 1;
}

Genome Space::mutate(const Genome& parent, Rng& rng) const {
  const std::vector<bool> counts = expressed(parent);
  std::vector<std::size_t> mutable_choices;
  for (std::size_t i = 0; i < size(); ++i) {
    if (counts[i] && (*domains_)[i].cardinality() > 1) mutable_choices.push_back(i);
  }
  if (mutable_choices.empty()) return parent;
  // ArchitectureRules::repair may undo a change.
  for (int attempt = 0; attempt < kMostRepairs; ++attempt) {
    const std::size_t index = mutable_choices[rng.below(mutable_choices.size())];
    std::vector<double> codes(parent.codes().begin(), parent.codes().end());
    codes[index] = other_code(index, codes[index], rng);
    Genome child = repair(std::move(codes), rng);
    if (!(child == parent)) return child;
  }
  return parent;
}

Genome Space::crossover(const Genome& one, const Genome& other, Rng& rng) const {
  const std::size_t count = groups_.empty() ? 0 : std::ranges::max(groups_) + 1;
  std::vector<bool> from_other(count);
  for (std::size_t group = 0; group < count; ++group) from_other[group] = rng.chance(0.5);
  std::vector<double> codes(size());
  for (std::size_t i = 0; i < size(); ++i)
    codes[i] = (from_other[groups_[i]] ? other : one).codes()[i];
  return repair(std::move(codes), rng);
}

std::vector<bool> Space::expressed(const Genome& genome) const {
  std::vector<bool> counts(size());
  for (std::size_t i = 0; i < size(); ++i) counts[i] = genome.is_active(i);
  for (const RuledRange& range : ruled_ranges_) {
    const std::vector<bool> of_range =
        range.rules->expressed(genome.codes().subspan(range.first, range.count));
    for (std::size_t i = 0; i < range.count; ++i)
      counts[range.first + i] = counts[range.first + i] && of_range[i];
  }
  return counts;
}

std::uint64_t Space::identity(const Genome& genome) const {
  if (ruled_ranges_.empty()) return hash64(std::as_bytes(genome.codes()));
  const std::vector<bool> counts = expressed(genome);
  std::vector<double> codes(genome.codes().begin(), genome.codes().end());
  for (std::size_t i = 0; i < size(); ++i) {
    if (!counts[i]) codes[i] = kInactive;
  }
  return hash64(std::as_bytes(std::span(codes)));
}

std::optional<LabelledGraph> Space::graph(const Genome& genome) const {
  if (!has_graph()) return std::nullopt;
  return (*graph_)(genome.codes());
}

Space Space::with_graph(GraphOfCodes graph) const {
  Space space = *this;
  space.graph_ = std::make_shared<const GraphOfCodes>(std::move(graph));
  return space;
}

double Space::cardinality() const {
  // subtree(i) counts the assignments of domain i and of the domains whose `when` depends on it.
  std::vector<std::vector<std::size_t>> children(size());
  for (std::size_t i = 0; i < size(); ++i) {
    if (parents_[i]) children[parents_[i]->index].push_back(i);
  }
  const std::function<double(std::size_t)> subtree = [&](std::size_t i) -> double {
    const Domain& domain = (*domains_)[i];
    if (children[i].empty() || std::isinf(domain.cardinality())) return domain.cardinality();
    std::map<double, double> factor;  // by the parent's code, where a child is active
    for (std::size_t child : children[i]) {
      const double below = subtree(child);
      for (double code : parents_[child]->codes)
        factor.try_emplace(code, 1.0).first->second *= below;
    }
    double total = domain.cardinality() - static_cast<double>(factor.size());
    for (const auto& [code, ways] : factor) total += ways;
    return total;
  };
  double product = 1;
  for (std::size_t i = 0; i < size(); ++i) {
    if (!parents_[i]) product *= subtree(i);
  }
  return product;
}

SpaceBuilder& SpaceBuilder::add(Domain domain) {
  domains_.push_back(std::move(domain));
  return *this;
}

SpaceBuilder& SpaceBuilder::add(std::vector<Domain> domains,
                                std::shared_ptr<const ArchitectureRules> rules) {
  ruled_ranges_.push_back({domains_.size(), domains.size(), std::move(rules)});
  std::ranges::move(domains, std::back_inserter(domains_));
  return *this;
}

namespace {

Domain named(std::string name, DomainKind kind, const Choice& choice) {
  Domain domain;
  domain.name = std::move(name);
  domain.kind = kind;
  domain.log = choice.log;
  domain.step = choice.step;
  domain.ordered = choice.ordered;
  if (!choice.when.parent.empty()) domain.when = When{choice.when.parent, choice.when.values};
  return domain;
}

}  // namespace

SpaceBuilder& SpaceBuilder::add_float(std::string name, double low, double high,
                                      const Choice& choice) {
  Domain domain = named(std::move(name), DomainKind::kFloat, choice);
  domain.low = low;
  domain.high = high;
  return add(std::move(domain));
}

SpaceBuilder& SpaceBuilder::add_int(std::string name, std::int64_t low, std::int64_t high,
                                    const Choice& choice) {
  Domain domain = named(std::move(name), DomainKind::kInt, choice);
  domain.low = static_cast<double>(low);
  domain.high = static_cast<double>(high);
  if (domain.step == 0) domain.step = 1;
  return add(std::move(domain));
}

SpaceBuilder& SpaceBuilder::add_categorical(std::string name, std::vector<std::string> choices,
                                            const Choice& choice) {
  Domain domain = named(std::move(name), DomainKind::kCategorical, choice);
  for (std::string& word : choices) domain.choices.emplace_back(std::move(word));
  return add(std::move(domain));
}

SpaceBuilder& SpaceBuilder::add_numbers(std::string name, std::vector<double> choices,
                                        const Choice& choice) {
  Domain domain = named(std::move(name), DomainKind::kCategorical, choice);
  domain.choices.assign(choices.begin(), choices.end());
  return add(std::move(domain));
}

SpaceBuilder& SpaceBuilder::add_bool(std::string name, const Choice& choice) {
  return add(named(std::move(name), DomainKind::kBool, choice));
}

std::optional<std::string> mistake_in(const Domain& domain) {
  const auto says = [&](std::string_view what) { return fmt::format("{}: {}", domain.name, what); };
  if (domain.name.empty()) return "a parameter has no name";
  if (domain.kind == DomainKind::kCategorical) {
    if (domain.choices.empty()) return says("choices is empty; give at least one");
    for (std::size_t i = 0; i < domain.choices.size(); ++i) {
      if (domain.code_of(domain.choices[i]) != static_cast<double>(i)) {
        return says(fmt::format("the choice {} is there twice", to_text(domain.choices[i])));
      }
    }
    return std::nullopt;
  }
  if (domain.kind == DomainKind::kBool) return std::nullopt;
  if (!std::isfinite(domain.low) || !std::isfinite(domain.high))
    return says("low and high must be finite");
  if (domain.low > domain.high) {
    return says(fmt::format("low {} is above high {}", domain.low, domain.high));
  }
  if (domain.log && domain.low <= 0) return says("a log range needs low above 0");
  if (!std::isfinite(domain.step) || domain.step < 0) return says("step must be above 0");
  if (domain.kind == DomainKind::kInt) {
    const auto whole = [](double x) { return x == std::floor(x); };
    if (!whole(domain.low) || !whole(domain.high)) return says("an int range needs whole numbers");
    // The next whole number is no double, so that one would stand for both.
    if (std::abs(domain.low) >= 0x1.0p53 || std::abs(domain.high) >= 0x1.0p53)
      return says(
          "an int range ends at 9007199254740991, which is 2^53 - 1; give larger numbers "
          "as choices");
    if (!whole(domain.step) || domain.step < 1)
      return says("an int step must be a whole number of at least 1");
  }
  return std::nullopt;
}

Result<Space> SpaceBuilder::build() const {
  const auto bad = [](const Domain& domain, std::string message) {
    auto error = fail(ErrorCode::kInput, std::move(message));
    error.value().subject = domain.name;
    return error;
  };
  Space space;
  space.domains_ = std::make_shared<const std::vector<Domain>>(domains_);
  space.parents_.resize(domains_.size());
  for (std::size_t i = 0; i < domains_.size(); ++i) {
    const Domain& domain = domains_[i];
    if (const auto mistake = mistake_in(domain)) return bad(domain, *mistake);
    if (space.index_of(domain.name) != i)
      return bad(domain, fmt::format("{} is defined twice", domain.name));
    if (!domain.when) continue;
    const auto parent = space.index_of(domain.when->parent);
    if (!parent) {
      std::vector<std::string_view> known;
      for (const Domain& other : domains_) known.push_back(other.name);
      return bad(domain,
                 domain.name + ": when: " + unknown_name("parameter", domain.when->parent, known));
    }
    Space::Parent link{*parent, {}};
    for (const Value& value : domain.when->values) {
      const auto code = domains_[*parent].code_of(value);
      if (!code) {
        return bad(domain, fmt::format("{}: when: {} cannot be {}; it accepts {}", domain.name,
                                       domains_[*parent].name, to_text(value),
                                       accepted_values(domains_[*parent])));
      }
      link.codes.push_back(*code);
    }
    if (link.codes.empty()) return bad(domain, domain.name + ": when: no value is given");
    space.parents_[i] = std::move(link);
  }
  space.ruled_ranges_ = ruled_ranges_;
  std::map<std::string_view, std::size_t> groups;
  for (const Domain& domain : *space.domains_) {
    space.groups_.push_back(
        groups.try_emplace(group_name(domain.name), groups.size()).first->second);
  }
  // Places parents before children; a round that places nothing has found a cycle.
  std::vector<bool> placed(domains_.size(), false);
  while (space.order_.size() < domains_.size()) {
    const std::size_t before = space.order_.size();
    for (std::size_t i = 0; i < domains_.size(); ++i) {
      if (placed[i] || (space.parents_[i] && !placed[space.parents_[i]->index])) continue;
      placed[i] = true;
      space.order_.push_back(i);
    }
    if (space.order_.size() == before) {
      const auto stuck =
          static_cast<std::size_t>(std::ranges::find(placed, false) - placed.begin());
      return bad(domains_[stuck], domains_[stuck].name + ": when: the conditions form a circle");
    }
  }
  return space;
}

}  // namespace detol::inline encoding
