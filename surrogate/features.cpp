#include "surrogate/features.h"

#include <algorithm>
#include <cmath>

namespace detol::inline surrogate {
namespace {

constexpr double kLeastFidelity = 1.0 / 1024;  // epochs
constexpr double kDoublings = 8;          // of the epochs that count as the whole unit interval
constexpr std::size_t kMostSheared = 20;  // numbers, which have 190 shears

}  // namespace

Features::Features(const Space& space, std::optional<double> fidelity)
    : space_(space), has_graph_(space.has_graph()), fidelity_(fidelity) {
  for (std::size_t i = 0; i < space.size(); ++i) {
    const Domain& domain = space.domains()[i];
    if (domain.cardinality() < 2 && !domain.when) continue;
    if (!domain.is_ordered()) {
      categories_.push_back(i);
      continue;
    }
    const bool is_conditional = domain.when.has_value();
    if (!is_conditional) sheared_.push_back(length_of_.size());
    numbers_.push_back(
        {.domain = i, .column = length_of_.size(), .is_conditional = is_conditional});
    length_of_.push_back(lengths_);
    if (is_conditional) {
      length_of_.push_back(lengths_++);
      length_of_.push_back(lengths_);
    }
    ++lengths_;
  }
  if (sheared_.size() < 2 || sheared_.size() > kMostSheared) sheared_.clear();
  if (fidelity_) length_of_.push_back(lengths_++);
}

std::size_t Features::shears() const {
  const std::size_t columns = sheared_.size();
  return columns == 0 ? 0 : columns * (columns - 1) / 2;
}

Point Features::of(const Genome& genome, double fidelity) const {
  const std::vector<bool> counts = space_.expressed(genome);
  Point point;
  point.numbers.reserve(number_columns());
  for (const Number& number : numbers_) {
    const double u =
        counts[number.domain]
            ? space_.domains()[number.domain].position_of(genome.codes()[number.domain])
            : 0.5;
    if (!number.is_conditional) {
      point.numbers.push_back(u);
    } else if (counts[number.domain]) {
      point.numbers.insert(point.numbers.end(), {std::sin(u), std::cos(u), 1});
    } else {
      point.numbers.insert(point.numbers.end(), {0, 0, 0});
    }
  }
  if (fidelity_)
    point.numbers.push_back(std::log2(std::max(kLeastFidelity, fidelity)) / kDoublings);
  for (std::size_t domain : categories_)
    point.categories.push_back(counts[domain] ? static_cast<int>(genome.codes()[domain]) : -1);
  if (const auto graph = space_.graph(genome))
    point.graph = std::make_shared<const GraphFeatures>(graph_features(*graph));
  return point;
}

Point Features::restricted(const Point& point, const std::vector<bool>& kept) const {
  Point some = point;
  some.numbers.resize(number_columns());
  for (const Number& number : numbers_) {
    if (kept[number.domain]) continue;
    const auto first = some.numbers.begin() + static_cast<std::ptrdiff_t>(number.column);
    std::fill_n(first, number.is_conditional ? 3 : 1, 0);
  }
  for (std::size_t i = 0; i < categories_.size(); ++i) {
    if (!kept[categories_[i]]) some.categories[i] = -1;
  }
  return some;
}

std::vector<double> Features::by_domain(std::span<const double> lengths) const {
  std::vector<double> of_domain(space_.size(), 0);
  for (const Number& number : numbers_)
    of_domain[number.domain] = lengths[length_of_[number.column]];
  return of_domain;
}

std::vector<double> Features::by_position(const Genome& genome,
                                          std::span<const double> by_column) const {
  std::vector<double> gradient(space_.size(), 0);
  for (const Number& number : numbers_) {
    if (!genome.is_active(number.domain)) continue;
    const double* by = by_column.data() + number.column;
    if (!number.is_conditional) {
      gradient[number.domain] = by[0];
      continue;
    }
    const double u = space_.domains()[number.domain].position_of(genome.codes()[number.domain]);
    gradient[number.domain] = by[0] * std::cos(u) - by[1] * std::sin(u);
  }
  return gradient;
}

}  // namespace detol::inline surrogate
