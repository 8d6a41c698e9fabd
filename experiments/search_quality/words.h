#pragma once

// What `search_quality` and `search_loop` have in common: an algorithm on the command line, and a
// function's values for searchers of other projects (peers.py).

#include <functional>
#include <string>

#include "encodings/space/space.h"
#include "encodings/study/study_config.h"

namespace detol {

// Reads "NAME" or "NAME:OPTION=VALUE;OPTION=VALUE".
Named named(const std::string& words);

// Prints the number of parameters and the noise. Then reads from stdin, for each parameter, a
// number in [0, 1], and prints the value at these, until the numbers end.
void print_values(const Space& space, double noise,
                  const std::function<double(const Genome&)>& value);

}  // namespace detol
