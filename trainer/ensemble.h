#pragma once

// Ensemble: trained networks side by side whose outputs are combined by a weighted vote:
//
//   classification   the mean of the members' probabilities; the logits are its logarithms
//   binary           the mean of the probabilities of both classes; the logit is the difference of
//                    their logarithms
//   multi_label      the same for each label
//   regression       the mean of the members' predictions
//
// Members and shares are chosen by greedy selection with replacement (Caruana et al., 2004,
// "Ensemble selection from libraries of models"): the network that lowers the ensemble's loss on
// the validation data most is added, again and again; one that is added twice counts twice. Of all
// prefixes the best counts. By the loss, because it asks for honest probabilities: by the accuracy,
// networks that are sure of nothing get most of the votes (experiments/ensembles/RESULTS.md).

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "encodings/network/network.h"
#include "encodings/study/recipe.h"
#include "encodings/study/study_config.h"
#include "trainer/backends/weights.h"
#include "trainer/data/dataset.h"

namespace detol::inline trainer {

inline constexpr float kLeastProbability = 1e-37f;  // whose logarithm is taken

// Returns one network that computes the outputs of all members, in their order, from one input.
// Layers of member i are called "member<i + 1>.<name>". Errors (kInput): the members read or give
// different shapes. REQUIRES: at least one member.
Result<Network> join(const std::vector<const Network*>& members);

// Returns the weights of the joined network. REQUIRES: those of its members, in their order.
Weights join(const Network& joined, const std::vector<const Weights*>& members);

// Returns the ensemble's outputs (N x width) from those of its members (N x members x width).
// REQUIRES: a share for each member; they add up to 1.
std::vector<float> vote(TaskKind task, std::span<const float> shares, std::size_t width,
                        std::span<const float> outputs);

// Voters: a network, or the joined network of an ensemble with the shares of its members.
struct Voters {
  const Network& network;
  const Weights& weights;
  std::span<const float> shares = {};
};

// Returns the outputs (N x outputs of the task) for a range of the data. Calls `on_progress`
// regularly. Errors: as logits_of (predict.h).
Result<std::vector<float>> outputs_of(
    const Voters& voters, const Dataset& data, Range range, std::string_view backend,
    const std::function<void()>& on_progress = [] {});

// Returns the networks' joined one as a candidate, with the recipe of the first. Errors: as above.
Result<Candidate> join_candidates(const std::vector<const Candidate*>& members);

// Selection: what greedy selection chooses from.
struct Selection {
  const Dataset& data;
  Range range;                                   // whose outputs are known
  const Recipe& recipe;                          // for the loss
  std::vector<std::vector<float>> outputs = {};  // of each network: N x K
  int size = 20;                                 // networks, each as often as it was added
};

// Returns the share of each network, 0 for those that are not chosen. Of equal additions the
// earlier network counts. REQUIRES: at least one network, size >= 1.
std::vector<float> select_ensemble(const Selection& selection);

}  // namespace detol::inline trainer
