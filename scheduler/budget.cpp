#include "scheduler/budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <vector>

#include "core/table.h"

namespace detol::inline scheduler {
namespace {

using Limit = std::optional<double> Budget::*;

constexpr double kMinShareForEta = 0.01;  // used share from which time_left() estimates
constexpr double kMinTimeForEtaS = 10;    // time from which time_left() estimates

struct Unit {
  std::string_view name;
  Limit limit;
  double size;  // in the limit's own unit: seconds, trials, flops
};

// The units of each limit, the largest first: to_text() takes the first that gives a whole number.
constexpr std::array kUnits = {
    Unit{"d", &Budget::wall_s, 86400},    Unit{"h", &Budget::wall_s, 3600},
    Unit{"min", &Budget::wall_s, 60},     Unit{"s", &Budget::wall_s, 1},
    Unit{"cpu-d", &Budget::cpu_s, 86400}, Unit{"cpu-h", &Budget::cpu_s, 3600},
    Unit{"cpu-min", &Budget::cpu_s, 60},  Unit{"cpu-s", &Budget::cpu_s, 1},
    Unit{"gpu-d", &Budget::gpu_s, 86400}, Unit{"gpu-h", &Budget::gpu_s, 3600},
    Unit{"gpu-min", &Budget::gpu_s, 60},  Unit{"gpu-s", &Budget::gpu_s, 1},
    Unit{"trials", &Budget::trials, 1},   Unit{"trial", &Budget::trials, 1},
    Unit{"flops", &Budget::work, 1},
};

constexpr std::array kLimits = {&Budget::wall_s, &Budget::cpu_s, &Budget::gpu_s, &Budget::trials,
                                &Budget::work};

tl::unexpected<Error> bad(std::string_view text, std::string_view why) {
  return fail(ErrorCode::kUsage,
              fmt::format("budget {}: {}; write for example 10cpu-min, 500gpu-h, 2d12h, 90s, "
                          "200trials, 5e15flops or 200trials,2h",
                          in_quotes(text), why));
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

struct BudgetPart {
  double amount = 0;
  const Unit* unit = nullptr;
};

// Removes one number and its unit from the front of `rest`. The error is the `why` of bad().
tl::expected<BudgetPart, std::string> take_part(std::string_view& rest) {
  BudgetPart part;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), part.amount);
  if (rest.starts_with('+'))
    return tl::unexpected<std::string>("a plus adds to a study that `detol resume` continues");
  if (error != std::errc{} || !std::isfinite(part.amount))
    return tl::unexpected(in_quotes(rest) + " does not start with a number");
  rest = trimmed(rest.substr(static_cast<std::size_t>(end - rest.data())));
  const std::string_view word = trimmed(rest.substr(0, rest.find_first_of("0123456789.+")));
  if (word.empty()) return tl::unexpected<std::string>("the unit is missing");
  part.unit = find_row(std::span<const Unit>(kUnits), word);
  if (part.unit == nullptr) {
    const auto known = names_of(std::span<const Unit>(kUnits));
    const auto guess = did_you_mean(word, known);
    return tl::unexpected(fmt::format("{} is not a unit{}", in_quotes(word),
                                      guess ? fmt::format(" (did you mean '{}'?)", *guess) : ""));
  }
  if (part.amount <= 0) return tl::unexpected<std::string>("it must be above 0");
  rest = trimmed(rest.substr(word.size()));
  return part;
}

// Adds one limit, which may have several parts of one kind: "2d12h".
Result<void> add_limit(Budget& budget, std::string_view text, std::string_view whole_text) {
  std::string_view rest = trimmed(text);
  Limit limit = nullptr;
  double sum = 0;
  do {
    const auto part = take_part(rest);
    if (!part) return bad(whole_text, part.error());
    if (limit != nullptr && part->unit->limit != limit)
      return bad(whole_text, "different limits are joined by a comma");
    limit = part->unit->limit;
    sum += part->amount * part->unit->size;
  } while (!rest.empty());
  if (limit == &Budget::trials && sum != std::floor(sum))
    return bad(whole_text, "trials are whole");
  if (!std::isfinite(sum)) return bad(whole_text, "it is too large");
  if (budget.*limit) return bad(whole_text, "a limit is given twice");
  budget.*limit = sum;
  return {};
}

// Returns the largest unit that makes the amount a whole number, else the smallest unit.
const Unit& shortest_unit(Limit limit, double amount) {
  const Unit* shortest = nullptr;
  for (const Unit& unit : kUnits) {
    if (unit.limit != limit || unit.name == "trial") continue;
    shortest = &unit;
    if (std::fmod(amount, unit.size) == 0) break;
  }
  return *shortest;
}

// Returns 5e15 instead of 5000000000000000; the text reads back as the same number.
std::string short_number(double amount) {
  if (amount < 1e9) return fmt::format("{}", amount);
  std::array<char, 32> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), amount).ptr;
  std::string text(digits.data(), end);
  std::erase(text, '+');
  return text;
}

}  // namespace

bool Budget::is_unlimited() const {
  return std::ranges::none_of(kLimits, [&](Limit limit) { return (this->*limit).has_value(); });
}

double Budget::used(const Spent& spent) const {
  const auto share = [](const std::optional<double>& limit, double used_so_far) {
    return limit ? used_so_far / *limit : 0.0;
  };
  return std::max({share(wall_s, spent.wall_s), share(cpu_s, spent.device_s),
                   share(gpu_s, spent.device_s), share(trials, spent.trials),
                   share(work, spent.work)});
}

Result<Budget> parse_budget(std::string_view text) {
  Budget budget;
  std::string_view rest = text;
  for (;;) {
    const std::size_t comma = rest.find(',');
    DETOL_TRY(add_limit(budget, rest.substr(0, comma), text));
    if (comma == std::string_view::npos) return budget;
    rest.remove_prefix(comma + 1);
  }
}

std::vector<Meter> meters(const Budget& budget, const Spent& spent) {
  const std::array used = {spent.wall_s, spent.device_s, spent.device_s, spent.trials, spent.work};
  std::vector<Meter> meters;
  for (std::size_t i = 0; i < kLimits.size(); ++i) {
    const Limit limit = kLimits[i];
    if (!(budget.*limit)) continue;
    const Unit& unit = shortest_unit(limit, *(budget.*limit));
    meters.push_back({used[i] / unit.size, *(budget.*limit) / unit.size, unit.name});
  }
  return meters;
}

std::optional<double> time_left(std::span<const Meter> then, std::span<const Meter> now,
                                double elapsed_s) {
  std::optional<double> least_s;
  for (std::size_t i = 0; i < std::min(then.size(), now.size()); ++i) {
    const double grown = now[i].used - then[i].used;
    const bool is_early = grown < kMinShareForEta * now[i].limit && elapsed_s < kMinTimeForEtaS;
    if (grown <= 0 || is_early) continue;
    const double left_s = std::max(0.0, now[i].limit - now[i].used) / grown * elapsed_s;
    least_s = std::min(least_s.value_or(left_s), left_s);
  }
  return least_s;
}

std::string to_text(const Budget& budget) {
  std::vector<std::string> parts;
  for (const Meter& meter : meters(budget, {}))
    parts.push_back(fmt::format("{}{}", short_number(meter.limit), meter.unit));
  return fmt::format("{}", fmt::join(parts, ","));
}

Result<Budget> budget_in_force(std::string_view text) {
  return text.empty() ? Budget{} : parse_budget(text);
}

Result<std::optional<BudgetChange>> parse_budget_change(std::string_view text) {
  if (trimmed(text).empty()) return std::optional<BudgetChange>();
  BudgetChange change{.limits = {}, .adds = trimmed(text).starts_with('+')};
  std::string limits;  // without a plus
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t end = std::min(rest.size(), rest.find(','));
    std::string_view part = trimmed(rest.substr(0, end));
    if (change.adds && part.starts_with('+')) part.remove_prefix(1);
    limits += fmt::format("{}{}", limits.empty() ? "" : ",", part);
    rest.remove_prefix(std::min(rest.size(), end + 1));
  }
  DETOL_ASSIGN(change.limits, parse_budget(limits));
  return change;
}

std::string to_text(const BudgetChange& change) {
  return (change.adds ? "+" : "") + to_text(change.limits);
}

Result<Budget> extended(const Budget& in_force, const BudgetChange& change) {
  if (!change.adds) return change.limits;
  Budget sum = in_force;
  for (Limit limit : kLimits) {
    if (!(change.limits.*limit)) continue;
    if (!(sum.*limit)) {
      return fail(ErrorCode::kUsage,
                  fmt::format("budget '{}': the study's budget, '{}', has no such limit to add to; "
                              "leave out the + to replace the whole",
                              to_text(change), to_text(sum)));
    }
    *(sum.*limit) += *(change.limits.*limit);
  }
  return sum;
}

}  // namespace detol::inline scheduler
