#pragma once

// Values of the functions of encodings/function.h, as an evaluator: one epoch per trial that
// reports the metric `value`; no network, no data, no checkpoint.

#include <memory>
#include <span>
#include <string_view>

#include "core/result.h"
#include "encodings/function.h"
#include "trainer/evaluator.h"

namespace detol {

struct Formula {
  std::string_view name;  // of its row in functions()
  double (*value)(const FunctionConfig& config, const Genome& genome);
  double (*seconds)(const FunctionConfig& config);  // that a trial takes
};

// One for every function.
std::span<const Formula> formulas();

// The evaluator of a study whose config has a function.
Result<std::unique_ptr<Evaluator>> make_function(const StudyConfig& config,
                                                 const TrainerOptions& options);

}  // namespace detol
