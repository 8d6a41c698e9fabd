#pragma once

// What a person sees of a running study: one line per event on stderr, each with the share of
// the budget used, the running trials, the best so far and the time that is left.

#include <memory>

#include "core/clock.h"
#include "scheduler/budget.h"
#include "scheduler/observer.h"

namespace detol {

std::unique_ptr<Observer> make_progress_lines(const Budget& budget, Clock& clock);

}  // namespace detol
