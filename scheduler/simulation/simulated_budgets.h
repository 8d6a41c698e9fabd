#pragma once

// Simulations of one study by several budgets, and what a search would have done by each, as rows.

#include <string>
#include <vector>

#include "knowledge/query.h"
#include "scheduler/run/group_size.h"
#include "scheduler/simulation/simulation.h"

namespace detol::inline scheduler {

// Takes the curves of a study, and how fast its groups were, with their times. Errors: kInput: no
// trial reported; kStudy, kStorage.
Result<void> take_curves_of(const std::string& storage, const std::string& study,
                            SimulationSettings& settings, GroupTimes& measured);

struct Simulated {
  Rows rows;  // of each budget
  bool has_failed = false;
};

// Simulates by each budget, and says how that ended. `points`: of each series of best values, at
// most. Errors: as simulate.
Result<Simulated> simulate_all(SimulationSettings settings, const GroupTimes& measured,
                               const std::vector<Budget>& budgets, int points);

}  // namespace detol::inline scheduler
