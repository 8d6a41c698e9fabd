#pragma once

// The charts of `plot`: the optimisation history of a study, and its Pareto front.

#include <array>
#include <string_view>

#include "report/chart.h"
#include "studies/open_study.h"

namespace detol::inline report {

// Against is what the history is drawn against.
struct Against {
  std::string_view name, label;
};

inline constexpr std::array kAgainst = {Against{"trial", "trial"},
                                        Against{"time", "hours since the study began"},
                                        Against{"device-time", "hours of device time"}};

// Returns the values of the scored trials that have ended, and the best so far. Errors (kStorage).
Result<Chart> history_of(const OpenStudy& study, const Against& against);

// Returns the first objective against the second, with the Pareto front. Errors: as pareto_trials.
// REQUIRES: the study has two objectives.
Result<Chart> front_of(const OpenStudy& study);

}  // namespace detol::inline report
