#pragma once

// AskedTrial: a trial as who asked for it gets it.

#include <cstdint>
#include <optional>
#include <string>

#include "encodings/space/trial.h"
#include "knowledge/states.h"

namespace detol::inline scheduler {

struct AskedTrial {
  TrialId trial = 0;
  int attempt = 0;
  std::uint64_t seed = 0;   // for the trial's own random numbers
  double epochs = 0;        // steps that earlier attempts have reported
  std::string folder = {};  // for its files; may not exist
  Genome genome;
  std::string study = {};  // its name
  // Of a candidate that the caller brought: it needs no evaluation, and its trial ended so.
  std::optional<TrialState> known = {};
};

}  // namespace detol::inline scheduler
