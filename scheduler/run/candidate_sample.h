#pragma once

// Candidate sample: what random candidates of a space cost, and how many of them a run refuses.

#include <cstdint>
#include <string>
#include <vector>

#include "scheduler/run/preflight.h"

namespace detol::inline scheduler {

inline constexpr std::int64_t kUsualSample = 200;  // candidates

struct CandidateSample {
  std::vector<std::int64_t> params = {}, flops = {}, memory = {};  // of those that would be trained
  std::int64_t drawn = 0;
  std::string reason = {};  // why the first was refused

  std::int64_t refused() const { return drawn - static_cast<std::int64_t>(params.size()); }
};

// Draws `count` candidates, by the study's seed, for groups of so many ranks. Errors: those of
// make_admission.
Result<CandidateSample> sample_candidates(const StudyConfig& config, const Preflight& preflight,
                                          int ranks, std::int64_t count);

}  // namespace detol::inline scheduler
