// Space: genomes of values that are given by name, all of them or some.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "core/table.h"
#include "encodings/space/space.h"
#include "encodings/space/written_value.h"

namespace detol::inline encoding {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr int kMostDraws = 64;  // until the rules of an architecture leave what was given

bool is_given(double code) {
  return !std::isnan(code);
}

tl::unexpected<Error> not_accepted(const Domain& domain, const Value& value) {
  const auto* text = std::get_if<std::string>(&value);
  const Value word = text == nullptr ? value : number_or_text(*text);
  const bool wants_number = domain.is_numeric() || domain.code_of(word);
  const bool is_number =
      text != nullptr && wants_number && !std::holds_alternative<std::string>(word);
  return fail(
      ErrorCode::kInput,
      fmt::format("{} cannot be {}{}; it accepts {}{}", domain.name, is_number ? "the text " : "",
                  is_number ? in_quotes(*text) : to_text(value), accepted_values(domain),
                  is_number ? ", as a number without quotes" : ""));
}

}  // namespace

Result<std::vector<double>> Space::codes_of(
    std::span<const std::pair<std::string, Value>> assignments) const {
  // A replay of a study calls this for every trial, so it looks names up in a map.
  std::unordered_map<std::string_view, std::size_t> positions(size());
  for (std::size_t i = 0; i < size(); ++i) positions.emplace((*domains_)[i].name, i);
  std::vector<double> codes(size(), kNone);
  for (const auto& [name, value] : assignments) {
    const auto index = positions.find(name);
    if (index == positions.end()) {
      std::vector<std::string_view> known;
      for (const Domain& domain : *domains_) known.push_back(domain.name);
      return fail(ErrorCode::kInput, unknown_name("parameter", name, known));
    }
    const Domain& domain = (*domains_)[index->second];
    const auto code = domain.code_of(value);
    if (!code) return not_accepted(domain, value);
    if (is_given(codes[index->second]))
      return fail(ErrorCode::kInput, fmt::format("{} is given twice", name));
    codes[index->second] = *code;
  }
  return codes;
}

Result<void> Space::check_active(std::span<const double> given,
                                 std::span<const double> codes) const {
  for (std::size_t index : order_) {
    if (!is_given(given[index]) || is_active(index, codes)) continue;
    const Domain& domain = (*domains_)[index];
    return fail(ErrorCode::kInput, fmt::format("{} is given, but {} switches it off", domain.name,
                                               domain.when->parent));
  }
  return {};
}

Result<Genome> Space::genome(std::span<const std::pair<std::string, Value>> assignments) const {
  DETOL_ASSIGN(std::vector<double> codes, codes_of(assignments));
  for (std::size_t index : order_) {
    if (is_active(index, codes) && !is_given(codes[index]))
      return fail(ErrorCode::kInput, fmt::format("{} is missing", (*domains_)[index].name));
  }
  DETOL_TRY(check_active(codes, codes));
  for (const RuledRange& range : ruled_ranges_) {
    const std::string mistake =
        range.rules->violation(std::span<const double>(codes).subspan(range.first, range.count));
    if (!mistake.empty()) return fail(ErrorCode::kInput, mistake);
  }
  return Genome(domains_, std::move(codes));
}

Result<std::vector<std::vector<double>>> Space::codes_for(std::span<const double> codes) const {
  std::vector<std::vector<double>> accepted(size());
  for (std::size_t i = order_.size(); i-- > 0;) {
    const std::size_t index = order_[i];
    const auto& parent = parents_[index];
    const bool is_needed = is_given(codes[index]) || !accepted[index].empty();
    if (!is_needed || !parent || is_given(codes[parent->index])) continue;
    std::vector<double>& of_parent = accepted[parent->index];
    if (of_parent.empty()) of_parent = parent->codes;
    std::erase_if(of_parent, [&](double code) {
      return std::ranges::find(parent->codes, code) == parent->codes.end();
    });
    if (of_parent.empty())
      return fail(ErrorCode::kInput,
                  fmt::format("no value of {} has both {} and the others that are given",
                              (*domains_)[parent->index].name, (*domains_)[index].name));
  }
  return accepted;
}

Result<Genome> Space::complete(std::span<const std::pair<std::string, Value>> assignments,
                               Rng& rng) const {
  DETOL_ASSIGN(const std::vector<double> given, codes_of(assignments));
  DETOL_ASSIGN(const auto accepted, codes_for(given));
  std::vector<double> codes;
  for (int draw = 0; draw < kMostDraws; ++draw) {
    codes = fill([&](std::size_t index) {
      if (is_given(given[index])) return given[index];
      const std::vector<double>& some = accepted[index];
      return some.empty() ? (*domains_)[index].code_at(rng.uniform())
                          : some[rng.below(some.size())];
    });
    DETOL_TRY(check_active(given, codes));
    Genome genome = repaired(codes, rng);
    const auto keeps = [&](std::size_t i) {
      return !is_given(given[i]) || genome.codes()[i] == given[i];
    };
    if (std::ranges::all_of(order_, keeps)) return genome;
  }
  for (const RuledRange& range : ruled_ranges_) {
    const std::string mistake =
        range.rules->violation(std::span<const double>(codes).subspan(range.first, range.count));
    if (!mistake.empty()) return fail(ErrorCode::kInput, mistake);
  }
  return fail(ErrorCode::kInput, "no architecture was found that has these values");
}

}  // namespace detol::inline encoding
