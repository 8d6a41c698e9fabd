#pragma once

// ForeignSpace: a search space that was written for another program, and the space file for
// `detol tune` that is made of it. Known are NNI's search_space.json, sweeps of Weights & Biases,
// Optuna's distributions as JSON and Ray Tune's words as text; the content says which it is.
//
// What has no equal here becomes the nearest, with a remark; what has none is an error.

#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "encodings/space/domain.h"

namespace detol::inline encoding {

struct ForeignParameter {
  Domain domain;  // of one value only, and without a condition: written as a constant
  std::vector<std::string> remarks = {};  // what differs from the original
};

struct ForeignSpace {
  std::string_view format;            // "an NNI search space"
  std::string study = {};             // empty: the file does not say
  std::vector<std::string> run = {};  // the command; empty: the file names no program
  int steps = 0;                      // of a whole trial; 0: until the program ends
  std::vector<ForeignParameter> parameters = {};
  std::string metric = {};  // empty: the file does not say
  bool maximizes = false;
  std::string algorithm = {};  // a value of search.algorithm; empty: the default
  std::string pruner = {};     // a value of search.pruner, as YAML
  std::string budget = {};
  std::vector<std::string> remarks = {};  // what differs in the rest of the file
};

// Reads a file of another program: JSON or YAML of at most 1 MB. Errors (kInput) start with
// "<source>:<line>:<column>: ": it is none of the formats, or has what no space file can express.
Result<ForeignSpace> read_foreign_space(std::string_view text, std::string_view source);

// Returns the space file of a study of that name, with the remarks as comments. `source` is the
// file that it was made of.
std::string write_space_file(const ForeignSpace& space, std::string_view study,
                             std::string_view source);

}  // namespace detol::inline encoding
