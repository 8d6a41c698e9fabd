#include "encodings/space/genome.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <stdexcept>

#include "core/table.h"

namespace detol::inline encoding {
namespace {

// Returns the position of the domain. Throws, as a typo must not read as a value in any build.
std::size_t known_index(const std::shared_ptr<const std::vector<Domain>>& domains,
                        std::string_view name) {
  std::vector<std::string_view> known;
  if (domains != nullptr) {
    const auto at = std::ranges::find(*domains, name, &Domain::name);
    if (at != domains->end()) return static_cast<std::size_t>(at - domains->begin());
    for (const Domain& domain : *domains) known.push_back(domain.name);
  }
  throw std::invalid_argument(unknown_name("parameter", name, known));
}

[[noreturn]] void refuse_type(std::string_view name, const Value& value, const char* type) {
  throw std::invalid_argument(
      fmt::format("parameter {} is {}, which is not {}", in_quotes(name), to_text(value), type));
}

template <typename T>
T held_by(const Value& value, std::string_view name, const char* type) {
  if (const auto* held = std::get_if<T>(&value)) return *held;
  refuse_type(name, value, type);
}

}  // namespace

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
  const std::size_t index = known_index(domains_, name);
  if (is_active(index)) return value(index);
  throw std::invalid_argument(fmt::format(
      "parameter {} is not active in this candidate; ask is_active() first", in_quotes(name)));
}

double Genome::number(std::string_view name) const {
  const std::size_t index = known_index(domains_, name);
  if (!is_active(index)) return std::numeric_limits<double>::quiet_NaN();
  const Value v = value(index);
  if (const auto* integer = std::get_if<std::int64_t>(&v)) return static_cast<double>(*integer);
  return held_by<double>(v, name, "a number");
}

std::string Genome::text(std::string_view name) const {
  return held_by<std::string>(value(name), name, "a text");
}

bool Genome::flag(std::string_view name) const {
  return held_by<bool>(value(name), name, "true or false");
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
