#pragma once

// The facts of kind `network`: the graph of each network that is asked for, as a line of text
// (encodings/network/network_text.h), with its numbers of weights and forward FLOPs of one image.
//
//   {"graph":"1 3x32x32 c16k3 b r p d10b","params":1234,"flops":567890}

#include <optional>
#include <unordered_set>

#include "encodings/study/study_config.h"
#include "knowledge/facts.h"

namespace detol::inline scheduler {

// NetworkFacts describes each network once in a run. Not thread-safe.
class NetworkFacts {
 public:
  // Returns the fact of a candidate's network, or nullopt if it was described before.
  std::optional<Fact> describe(const Candidate& candidate);

 private:
  std::unordered_set<std::uint64_t> described_;  // canonical hashes
};

}  // namespace detol::inline scheduler
