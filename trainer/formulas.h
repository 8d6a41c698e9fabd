#pragma once

// Formulas: the values of the functions of encodings/study/function.h, without any training.

#include <functional>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "encodings/study/function.h"

namespace detol::inline trainer {

// BenchmarkFunction: a function with its settings. Immutable; safe to share between threads.
struct BenchmarkFunction {
  // Returns a value for each metric of the function's row. REQUIRES: a genome of its space.
  std::function<std::vector<double>(const Genome& genome)> values;
  // The global minimum, of what keeps the constraints, to compute a regret; NaN if there are
  // several objectives.
  double optimum = std::numeric_limits<double>::quiet_NaN();
  double seconds = 0;  // duration of a trial
};

struct Formula {
  std::string_view name;  // of its row in functions()
  BenchmarkFunction (*make)(const FunctionConfig& config);
};

// Returns a formula for every row of functions().
std::span<const Formula> formulas();

}  // namespace detol::inline trainer
