#pragma once

// Agreement: the ranks of a group come to one decision, so that none waits for another that has
// already given up. Private to this folder.

#include <functional>
#include <optional>

#include "core/result.h"
#include "trainer/collectives/group.h"
#include "trainer/evaluator.h"

namespace detol::inline trainer {

// EarlyOutcome ends the evaluation at this point; if it is empty, the evaluation continues.
using EarlyOutcome = Result<std::optional<Evaluation>>;

// Runs an action; a failed allocation in it ends the evaluation of the job.
EarlyOutcome guarded(const Job& job, const std::function<EarlyOutcome()>& action);

// Returns, on every rank, the outcome of the first rank that has one. Every rank calls it at the
// same point.
EarlyOutcome agree(const EarlyOutcome& own, Group& group);

}  // namespace detol::inline trainer
