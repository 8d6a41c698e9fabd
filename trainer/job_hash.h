#pragma once

// The hash of a job: of everything that its numbers depend on, so that a checkpoint of another job
// is not continued.

#include <cstdint>
#include <string_view>

#include "trainer/data/dataset.h"
#include "trainer/evaluator.h"

namespace detol::inline trainer {

// The hash ignores the group's size and micro-batches: a trial resumes wherever there is room for
// it, and its numbers then differ as they do between groups.
std::uint64_t hash_of(const Job& job, const Dataset& data, std::string_view backend);

}  // namespace detol::inline trainer
