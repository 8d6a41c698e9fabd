#pragma once

// The space of `detol tune` and `detol ask` without a space file: a study's YAML from flags.

#include <string>
#include <vector>

#include "core/result.h"

namespace detol::inline encoding {

struct TunedSpace {
  std::string study;
  std::vector<std::string> command;     // the program and its arguments, with placeholders; empty:
                                        // callers evaluate the candidates
  std::vector<std::string> parameters;  // lr=log(1e-5,1e-1)
  std::vector<std::string> metrics;     // val_loss:minimize
  std::string steps = {};               // of a whole trial; empty: until the program ends
};

// Returns the space file. A parameter is one of
//
//   lr=float(0,1)      lr=float(0,1,0.1): a grid      lr=log(1e-5,1e-1)
//   n=int(1,8)         n=int(2,64,2)                  n=logint(1,1024)
//   opt=choice(sgd,adam)       size=ordered(16,32,64)
//   flag=bool                  epochs=3: always this value
//
// Errors (kUsage): something else; a metric without its direction.
Result<std::string> space_of(const TunedSpace& space);

}  // namespace detol::inline encoding
