#pragma once

// OneEpoch: evaluates candidates whose score is computed or looked up at once: one report per
// trial, no network, no data of its own, no checkpoint.

#include <functional>
#include <memory>

#include "trainer/evaluator.h"

namespace detol::inline trainer {

// Returns the only report of a trial, or why it is refused.
using Scorer = std::function<tl::expected<EpochReport, StudyConfig::Refused>(const Job& job)>;

// Makes an evaluator. Every trial waits `seconds` first. A metric that is not finite ends the trial
// as diverged. The group must outlive the evaluator.
std::unique_ptr<Evaluator> make_one_epoch(Group& group, double seconds, Scorer scorer);

}  // namespace detol::inline trainer
