#pragma once

// What the model of the searcher `gp` predicts of a candidate, in the units of the objectives.

#include <span>

#include "encodings/space/trial.h"
#include "search/gp_criterion.h"
#include "search/gp_model.h"
#include "search/searcher.h"

namespace detol::inline search {

// `at` is one point; `improved`: objectives_to_improve() of its proposal. REQUIRES:
// model.fantasize() was called since the last append().
Explanation explained(const GpModel& model, GpAcquisition acquisition, const Points& at,
                      std::span<const Objective> objectives,
                      std::vector<std::size_t> improved = {});

}  // namespace detol::inline search
