#pragma once

// How different the data sets of a knowledge base are, by the meta-features in their facts
// (scheduler/run/dataset_facts.h writes them).

#include <cstdint>
#include <map>
#include <span>

#include "knowledge/facts.h"

namespace detol::inline scheduler {

// Returns, for each data set of the facts, how far it is from the one with this fingerprint: the
// root mean square difference of meta-features, each standardised over all data sets; one that
// either lacks counts as equal. Empty if that data set has no fact. The keys are fingerprints.
std::map<std::uint64_t, double> dataset_distances(std::span<const Fact> facts,
                                                  std::uint64_t fingerprint);

}  // namespace detol::inline scheduler
