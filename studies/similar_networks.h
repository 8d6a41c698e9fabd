#pragma once

// The networks of a knowledge base as graphs, and those that are nearest to a trial's, for
// `similar`. The embedding that measures distances is trained on the base itself: the scores of all
// its studies.

#include <string>
#include <vector>

#include "studies/best_trial.h"
#include "surrogate/graph_features.h"

namespace detol::inline studies {

// ScoredNetwork stores the best trial of a study that has this network.
struct ScoredNetwork {
  std::size_t study = 0;  // in KnownNetworks::studies
  std::int64_t trial = 0;
  double value = 0;  // of the study's first objective
  std::string arch_hash;
  GraphFeatures graph;
};

struct KnownStudy {
  std::string name, dataset, data, metric;  // the data's fingerprint as in v_datasets, and its file
};

struct KnownNetworks {
  std::vector<KnownStudy> studies;
  std::vector<ScoredNetwork> networks;  // the first is that of the trial that was asked about
  bool is_cut = false;                  // there are more than kMostNetworks
};

// At most so many networks are compared, which takes a second or two: the own study's and those of
// the newest studies, the best of each first.
inline constexpr std::size_t kMostNetworks = 4'000;

// Returns the network of a trial and those of all scored trials of the base that can be compared
// with it: by their layers where the study trains, else, for a table, by the encoding's own graph.
// Errors (kEmpty): the trial has no network; as trial_called.
Result<KnownNetworks> known_networks(const OpenStudy& study, const std::string& id_or_best);

// Neighbour is a network of the list, by its distance from that of the trial.
struct Neighbour {
  const ScoredNetwork* network = nullptr;
  double similarity = 0;  // the Weisfeiler-Lehman kernel, 0 to 1
  double distance = 0;    // of the embedding
};

// Returns the networks that are the most alike by the kernel, the nearest by the embedding first.
std::vector<Neighbour> neighbours_of(const KnownNetworks& known);

}  // namespace detol::inline studies
