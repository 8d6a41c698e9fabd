#pragma once

// Training memory: the bytes that training a candidate holds at once, known before any training.
// They are asked of the plan of the backend that trains on this machine's processor, which is made
// without allocating what it plans (BackendRow::plan_bytes): weights, gradients, moments, the
// average, what a rank of a group keeps between steps, the tensors that live at once, workspaces.
// They are of one process that trains the whole batch as one micro-batch. Not counted: data, code,
// checkpoints while they are written. The instruction set decides the padding of channels, so that
// two machines may differ. A GPU's backend plans on its device alone; the processor's plan is its
// estimate.

#include "encodings/network/cost.h"
#include "encodings/study/study_config.h"

namespace detol::inline trainer {

// Errors (kInput): a layer that the backend cannot run. A network beyond 16 TiB is not planned; its
// weights, their gradients and its largest tensor are counted instead. Where
// `recipe.deterministic` is false, it is what the most demanding algorithm of each shape takes.
// REQUIRES: the network has layers. Throws std::bad_alloc.
Result<std::int64_t> training_bytes(const Network& network, const Recipe& recipe);

// The candidate with its cost's memory, or the reason for which it is refused: more than
// `constraints` allow. One whose largest tensor alone is too much is refused without a plan; one
// that cannot be planned keeps an unknown memory, since another backend may train it.
tl::expected<Candidate, StudyConfig::Refused> with_training_memory(Candidate candidate,
                                                                   const Constraints& constraints);

}  // namespace detol::inline trainer
