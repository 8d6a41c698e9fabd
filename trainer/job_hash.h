#pragma once

// The hash of everything that a job's numbers depend on, so that a checkpoint of another job is not
// resumed.

#include <cstdint>
#include <string_view>

#include "trainer/data/dataset.h"
#include "trainer/evaluator.h"

namespace detol::inline trainer {

// Returns the job hash. It ignores the group's size and micro-batches: a trial may resume in
// another group, and its numbers then differ as they do between groups.
std::uint64_t hash_of(const Job& job, const Dataset& data, std::string_view backend);

}  // namespace detol::inline trainer
