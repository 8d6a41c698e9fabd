#pragma once

// Formulas: the values of the functions of encodings/study/function.h, without any training.

#include <functional>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "encodings/study/function.h"

namespace detol::inline trainer {

// A function with its settings, ready to be asked. Immutable; safe to share between threads.
struct Landscape {
  // One for each metric of its row. REQUIRES: a genome of its space.
  std::function<std::vector<double>(const Genome& genome)> values;
  // The least value there is, for a regret; NaN where there are several objectives.
  double optimum = std::numeric_limits<double>::quiet_NaN();
  double seconds = 0;  // that a trial takes
};

struct Formula {
  std::string_view name;  // of its row in functions()
  Landscape (*make)(const FunctionConfig& config);
};

// One for every function.
std::span<const Formula> formulas();

}  // namespace detol::inline trainer
