#include "scheduler/network_facts.h"

#include <fmt/format.h>

#include "core/hash.h"
#include "encodings/network/network_text.h"

namespace detol::inline scheduler {

std::optional<Fact> NetworkFacts::describe(const Candidate& candidate) {
  if (!described_.insert(candidate.arch_hash).second) return std::nullopt;
  // The text has no character that JSON would escape.
  return Fact{kNetworkFact, to_hex(candidate.arch_hash),
              fmt::format(R"({{"graph":"{}","params":{},"flops":{}}})", to_text(candidate.network),
                          candidate.cost.params, candidate.cost.flops)};
}

}  // namespace detol::inline scheduler
