#pragma once

// Training memory: the bytes that training a candidate allocates at once, computed before training.
// They come from the memory plan of the CPU backend, which allocates nothing
// (BackendRow::plan_bytes): weights, gradients, moments, the average, the tensors that are live at
// once, workspaces. They are for one process that trains the whole batch as one micro-batch, or for
// all ranks of a group with a part of it each and what their sums keep. Not counted: data, code,
// checkpoints while they are written. The instruction set decides the padding of channels, so that
// two machines may differ. A GPU's backend can plan only on its device; the CPU's plan is the
// estimate for it.

#include "encodings/network/cost.h"
#include "encodings/study/study_config.h"

namespace detol::inline trainer {

// Returns the training memory. Errors (kInput): a layer that the backend cannot run. A network
// beyond 16 TiB is not planned; its weights, their gradients and its largest tensor are counted
// instead. If `recipe.deterministic` is false, the algorithms with the largest workspace count.
// The bytes are those of a group of `ranks`.
// REQUIRES: the network has layers. Throws std::bad_alloc.
Result<std::int64_t> training_bytes(const Network& network, const Recipe& recipe, int ranks = 1);

// Returns the bytes that the training of a candidate whose memory is planned takes; 0: unknown. In
// bf16, which only a GPU trains in, weights, gradients, moments and average stay floats, weights
// and gradients also have a bf16 copy, the rest is half as large, the batch is staged in floats,
// and its channels are padded to eight. Workspaces of the GPU's libraries are not counted: up to 1
// GiB, seldom more than 50 MB.
double device_bytes(const Candidate& candidate);

// Returns the candidate with its cost's memory, or the reason why it is refused: more than
// `constraints` allow. If weights, gradients and the largest tensor alone exceed them, it is
// refused without a plan; a candidate that cannot be planned keeps an unknown memory, since another
// backend may train it.
tl::expected<Candidate, StudyConfig::Refused> with_training_memory(Candidate candidate,
                                                                   const Constraints& constraints,
                                                                   int ranks = 1);

}  // namespace detol::inline trainer
