#pragma once

// Budget: when a study ends. Limits joined by commas, the first reached ends it; the total
// of the study, over all its resumes.
//
//   500gpu-h  10cpu-min  2d12h  90s  200trials  5e15flops  "200trials,2h"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace detol::inline scheduler {

// Spent is what a study has used so far.
struct Spent {
  double wall_s = 0;    // while a master lived
  double device_s = 0;  // devices held by live groups x wall, idle included
  double trials = 0;    // trials that started training, however they ended
  double work = 0;      // forward FLOPs x images trained
};

struct Budget {
  std::optional<double> wall_s;
  std::optional<double> cpu_s;  // device time, unit cpu-
  std::optional<double> gpu_s;  // device time, unit gpu-
  std::optional<double> trials;
  std::optional<double> work;

  bool is_unlimited() const;

  // The largest share of a limit that is used: 1 or more means the study ends.
  double used(const Spent& spent) const;
};

// Meter says how far one limit of a budget is used, in the unit that to_text() writes it in.
struct Meter {
  double used = 0;
  double limit = 0;
  std::string_view unit;  // "cpu-min", "trials"
};

// Returns a meter per limit, in the order of to_text(); none if there is no limit.
std::vector<Meter> meters(const Budget& budget, const Spent& spent);

// Seconds until the first limit is reached at the pace of the last `elapsed_s` seconds, at
// whose beginning the meters stood at `then`; nullopt: there is no limit, or nothing to go by.
std::optional<double> time_left(std::span<const Meter> then, std::span<const Meter> now,
                                double elapsed_s);

// Errors (kUsage): what is wrong, and examples of what is accepted.
Result<Budget> parse_budget(std::string_view text);

// The same limits written shortly: "10cpu-min".
std::string to_text(const Budget& budget);

// `+100gpu-h` on a budget in force adds to that limit; without the plus it replaces the whole.
Result<Budget> extended(const Budget& in_force, std::string_view change);

}  // namespace detol::inline scheduler
