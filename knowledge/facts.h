#pragma once

// Fact: something known that is no event of a study: about a data set, a network, a host, a run.
//
// A fact is a pure function of its key, so the first one that is written stays, and merging two
// databases takes the union. Deleting, renaming or copying a study leaves facts alone. The views
// v_datasets, v_networks, v_hosts and v_runs show them.
//
//   kind      key, 16 hexadecimal digits               payload, a JSON object
//   dataset   the fingerprint of the data              trainer/data/meta_features.h
//   network   the canonical hash of the network        scheduler/network_facts.h
//   host      a hash of what it is                     scheduler/run/run_facts.h
//   run       a number that no other run has           scheduler/run/run_facts.h
//   simulation  a hash of its settings                 scheduler/simulation/simulation.h
//   label     a number that no other change has        labels.h

#include <string>

namespace detol::inline knowledge {

struct Fact {
  std::string kind;
  std::string key;
  std::string payload;  // the text of a JSON object

  friend bool operator==(const Fact& a, const Fact& b) = default;
};

inline constexpr const char* kDatasetFact = "dataset";
inline constexpr const char* kNetworkFact = "network";
inline constexpr const char* kHostFact = "host";
inline constexpr const char* kRunFact = "run";
inline constexpr const char* kSimulationFact = "simulation";
inline constexpr const char* kLabelFact = "label";

}  // namespace detol::inline knowledge
