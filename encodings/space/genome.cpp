#include "encodings/space/genome.h"

#include <algorithm>
#include <cassert>

namespace detol::inline encoding {

std::size_t Genome::index_of(std::string_view name) const {
  const auto at = std::ranges::find(*domains_, name, &Domain::name);
  return static_cast<std::size_t>(at - domains_->begin());
}

bool Genome::is_active(std::string_view name) const {
  if (domains_ == nullptr) return false;
  const std::size_t index = index_of(name);
  return index < codes_.size() && is_active(index);
}

Value Genome::value(std::string_view name) const {
  assert(is_active(name));
  return value(index_of(name));
}

double Genome::number(std::string_view name) const {
  const Value v = value(name);
  if (const auto* integer = std::get_if<std::int64_t>(&v)) return static_cast<double>(*integer);
  return std::get<double>(v);
}

std::string Genome::text(std::string_view name) const {
  return std::get<std::string>(value(name));
}

bool Genome::flag(std::string_view name) const {
  return std::get<bool>(value(name));
}

std::vector<std::pair<std::string, Value>> Genome::assignments() const {
  std::vector<std::pair<std::string, Value>> active;
  for (std::size_t i = 0; i < codes_.size(); ++i) {
    if (is_active(i)) active.emplace_back((*domains_)[i].name, value(i));
  }
  return active;
}

bool operator==(const Genome& a, const Genome& b) {
  return std::ranges::equal(a.codes_, b.codes_, [](double x, double y) {
    return x == y || (x != x && y != y);  // NaN: inactive in both
  });
}

}  // namespace detol::inline encoding
