#include "encodings/space/domain.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>

#include "encodings/space/written_value.h"

namespace detol::inline encoding {
namespace {

// Returns a value as a number, if it is one.
std::optional<double> number_of(const Value& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return static_cast<double>(*integer);
  if (const auto* real = std::get_if<double>(&value)) return *real;
  return std::nullopt;
}

// Compares numbers as such, so that 1 is 1.0; whole ones to the last digit, which a double lacks.
bool same_value(const Value& a, const Value& b) {
  const auto x = number_of(a), y = number_of(b);
  return x && y && a.index() != b.index() ? *x == *y : a == b;
}

// Returns the code of the one text whose number an earlier version recorded; nullopt if there is
// none, or more than one.
std::optional<double> code_of_recorded(const std::vector<Value>& choices, const Value& value) {
  const auto number = number_of(value);
  std::optional<double> code;
  for (std::size_t i = 0; number && i < choices.size(); ++i) {
    const auto* text = std::get_if<std::string>(&choices[i]);
    if (text == nullptr || !is_number_of(*text, *number)) continue;
    if (code) return std::nullopt;
    code = static_cast<double>(i);
  }
  return code;
}

// Counts the grid points from low to high.
double grid_size(const Domain& domain) {
  return std::floor((domain.high - domain.low) / domain.step * (1 + 1e-12) + 1e-9) + 1;
}

double clamped_index(double u, double count) {
  return std::clamp(std::floor(u * count), 0.0, count - 1);
}

// LogRange: the points of a `log` grid are spread over [log(low - step/2), log(high + step/2)), the
// continuous range that rounds to them; a coarse grid starts at low/2, so that it has a logarithm.
struct LogRange {
  double low, high;
};

LogRange log_range(const Domain& domain) {
  const double margin = domain.step > 0 ? domain.step / 2 : 0;
  return {std::log(std::max(domain.low - margin, domain.low / 2)), std::log(domain.high + margin)};
}

// Returns a point that is never above high: 0 + 6 * 0.05 is 0.30000000000000004.
double grid_point(const Domain& domain, double index) {
  return std::min(domain.low + index * domain.step, domain.high);
}

double on_grid(const Domain& domain, double x) {
  const double index = std::round((x - domain.low) / domain.step);
  return grid_point(domain, std::clamp(index, 0.0, grid_size(domain) - 1));
}

}  // namespace

std::string accepted_values(const Domain& domain) {
  if (domain.kind == DomainKind::kBool) return "true or false";
  if (domain.kind != DomainKind::kCategorical) {
    return fmt::format("{} to {}", domain.low, domain.high);
  }
  std::vector<std::string> words;
  for (const Value& choice : domain.choices) words.push_back(to_text(choice));
  return fmt::format("{}", fmt::join(words, ", "));
}

bool Domain::is_numeric() const {
  return kind == DomainKind::kFloat || kind == DomainKind::kInt;
}

bool Domain::is_ordered() const {
  return is_numeric() || ordered;
}

double Domain::cardinality() const {
  switch (kind) {
    case DomainKind::kBool:
      return 2;
    case DomainKind::kCategorical:
      return static_cast<double>(choices.size());
    case DomainKind::kInt:
      return grid_size(*this);
    case DomainKind::kFloat:
      break;
  }
  if (low == high) return 1;
  return step > 0 ? grid_size(*this) : std::numeric_limits<double>::infinity();
}

double Domain::code_at(double u) const {
  switch (kind) {
    case DomainKind::kBool:
    case DomainKind::kCategorical:
      return clamped_index(u, cardinality());
    case DomainKind::kInt:
    case DomainKind::kFloat:
      break;
  }
  if (low == high) return low;
  if (log) {
    const LogRange range = log_range(*this);
    const double x = std::exp(range.low + u * (range.high - range.low));
    return step > 0 ? on_grid(*this, x) : std::clamp(x, low, high);
  }
  if (step > 0) return grid_point(*this, clamped_index(u, grid_size(*this)));
  return std::clamp(low + u * (high - low), low, high);
}

double Domain::position_of(double code) const {
  if (kind == DomainKind::kBool || kind == DomainKind::kCategorical)
    return (code + 0.5) / cardinality();
  if (low == high) return 0.5;
  if (log) {
    const LogRange range = log_range(*this);
    return std::clamp((std::log(code) - range.low) / (range.high - range.low), 0.0, 1.0);
  }
  if (step > 0) return (std::round((code - low) / step) + 0.5) / grid_size(*this);
  return std::clamp((code - low) / (high - low), 0.0, 1.0);
}

bool Domain::contains(double code) const {
  if (!std::isfinite(code)) return false;
  if (kind == DomainKind::kBool || kind == DomainKind::kCategorical) {
    return code >= 0 && code < cardinality() && code == std::floor(code);
  }
  if (code < low || code > high) return false;
  return step <= 0 || std::abs(on_grid(*this, code) - code) <= 1e-9 * step;
}

Value Domain::value_of(double code) const {
  assert(contains(code));
  switch (kind) {
    case DomainKind::kBool:
      return code != 0;
    case DomainKind::kCategorical:
      return choices[static_cast<std::size_t>(code)];
    case DomainKind::kInt:
      return static_cast<std::int64_t>(code);
    case DomainKind::kFloat:
      break;
  }
  return code;
}

std::optional<double> Domain::code_of(const Value& value) const {
  if (kind == DomainKind::kCategorical) {
    const auto at =
        std::ranges::find_if(choices, [&](const Value& c) { return same_value(c, value); });
    if (at == choices.end()) return code_of_recorded(choices, value);
    return static_cast<double>(at - choices.begin());
  }
  if (kind == DomainKind::kBool) {
    const auto* flag = std::get_if<bool>(&value);
    return flag == nullptr ? std::nullopt : std::optional<double>(*flag ? 1.0 : 0.0);
  }
  const auto number = number_of(value);
  if (!number || !contains(*number)) return std::nullopt;
  return step > 0 ? on_grid(*this, *number) : *number;
}

}  // namespace detol::inline encoding
