#pragma once

// Hashes of what a training's numbers depend on: of a job, so that a checkpoint of another job is
// not resumed; and of a candidate, so that another study need not train it again.

#include <cstdint>
#include <string_view>

#include "trainer/data/dataset.h"
#include "trainer/evaluator.h"

namespace detol::inline trainer {

// Returns the job hash. It ignores the group's size and micro-batches: a trial may resume in
// another group, and its numbers then differ as they do between groups.
std::uint64_t hash_of(const Job& job, const Dataset& data, std::string_view backend);

// Returns a hash of what the numbers of a candidate's training depend on in any study, but for the
// random seed: its network, every setting, the data with its split, the backend, which epoch
// counts, and the version of the trainer. The ranks of a group are not in it: the ledger has them
// of each attempt, and they count where depends_on_ranks().
std::uint64_t training_identity(const Candidate& candidate, std::uint64_t data_fingerprint,
                                std::string_view backend,
                                const std::optional<EpochRanking>& ranking);

// Returns whether the numbers of a candidate's training depend on the ranks of the group beyond
// rounding: gradients that are compressed or late, batch norm over each rank's part of a batch.
bool depends_on_ranks(const Candidate& candidate);

}  // namespace detol::inline trainer
