#pragma once

// Agreement: how the ranks of a group come to one decision, so that none waits for another that
// has already given up. Private to this folder.

#include <functional>
#include <optional>

#include "core/result.h"
#include "trainer/collectives/group.h"
#include "trainer/evaluator.h"

namespace detol {

// How the evaluation ends here; empty: it goes on.
using Ending = Result<std::optional<Evaluation>>;

// Runs an action; a failed allocation in it ends the evaluation of the job.
Ending guarded(const Job& job, const std::function<Ending()>& action);

// The ending of the first rank that has one, on every rank. Every rank calls it at the same point.
Ending agree(const Ending& own, Group& group);

}  // namespace detol
