#pragma once

// Budget: the limits of a study, joined by commas; the first limit reached ends the study. Each
// limit counts the whole study, over all its resumes.
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
  double wall_s = 0;    // of all its runs
  double device_s = 0;  // devices held by live groups x wall time, idle time included
  double trials = 0;    // trials that started training, however they ended
  double work = 0;      // forward FLOPs x images trained
};

struct Budget {
  std::optional<double> wall_s;
  std::optional<double> cpu_s;  // device time, given as cpu-h
  std::optional<double> gpu_s;  // device time, given as gpu-h
  std::optional<double> trials;
  std::optional<double> work;

  bool is_unlimited() const;

  // Returns the largest used share of any limit; at 1 or more the study ends.
  double used(const Spent& spent) const;
};

// Meter holds how much of one limit is used, in the unit that to_text() writes it in.
struct Meter {
  double used = 0;
  double limit = 0;
  std::string_view unit;  // "cpu-min", "trials"
};

// Returns a meter per limit, in the order of to_text(); none if there is no limit.
std::vector<Meter> meters(const Budget& budget, const Spent& spent);

// Returns the seconds until the first limit is reached at the pace of the last `elapsed_s` seconds,
// at whose beginning the meters stood at `then`; nullopt if there is no limit or no pace yet.
std::optional<double> time_left(std::span<const Meter> then, std::span<const Meter> now,
                                double elapsed_s);

// Parses a budget. Errors (kUsage): what is wrong, and examples of what is accepted.
Result<Budget> parse_budget(std::string_view text);

// Returns the limits in their shortest form: "10cpu-min".
std::string to_text(const Budget& budget);

// Parses the budget of a study; empty: it runs until a user stops it.
Result<Budget> budget_in_force(std::string_view text);

// BudgetChange is what a user writes for a study that is there: a new total, or what is added to
// the total.
struct BudgetChange {
  Budget limits;
  bool adds = false;
};

// Parses a change: `2h` is a total, `+20trials,+1h` adds, and the first plus stands for all. Empty:
// nothing changes. Errors (kUsage): as parse_budget().
Result<std::optional<BudgetChange>> parse_budget_change(std::string_view text);

// Returns the change in its shortest form: "+20trials,1cpu-h".
std::string to_text(const BudgetChange& change);

// Returns the budget that was in force after a change. Errors (kUsage): there is no such limit to
// add to.
Result<Budget> extended(const Budget& in_force, const BudgetChange& change);

}  // namespace detol::inline scheduler
