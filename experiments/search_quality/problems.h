#pragma once

// Problems on which `search_loop` compares searchers: spaces with a function of known optimum, each
// drawn by a seed. The seed places the optimum and, of a turned function, the axes, so that n seeds
// are n problems of one kind.

#include <cstdint>
#include <functional>
#include <string>

#include "core/result.h"
#include "encodings/space/space.h"

namespace detol {

struct Problem {
  Space space;
  std::function<double(const Genome&)> value;  // to be minimised; 0 at the optimum
};

// Makes the problem of a name: "hartmann6", "branches", or a function of numbers and its
// dimensions, "levy10". With "few-" in front the function has five dimensions among those that do
// nothing: "few-levy40". Errors: an unknown name (kUsage), which lists the known ones.
Result<Problem> make_problem(const std::string& name, std::uint64_t seed);

}  // namespace detol
