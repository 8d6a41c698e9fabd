#pragma once

// A formula (formulas.h) as an evaluator: one epoch per trial that reports its values, with
// noise where the function has some, which follows from the trial's seed; no network, no data, no
// checkpoint.

#include <memory>

#include "core/result.h"
#include "trainer/evaluator.h"

namespace detol::inline trainer {

// Makes the evaluator of a study whose config has a function.
Result<std::unique_ptr<Evaluator>> make_function(const StudyConfig& config,
                                                 const TrainerOptions& options);

}  // namespace detol::inline trainer
