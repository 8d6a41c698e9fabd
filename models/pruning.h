#pragma once

// Pruning a model of a study: which channels go is found in a child process, which leaves what is
// left as the checkpoint that the training of the pruned model begins from.

#include <string>
#include <vector>

#include "core/result.h"
#include "models/retraining.h"
#include "trainer/pruning/importance.h"

namespace detol::inline models {

enum class PrunedQuantity { kParams, kFlops, kLatency };

// PruningTerms: how much of what is to be left, and what counts as important.
struct PruningTerms {
  PrunedQuantity quantity = PrunedQuantity::kFlops;
  double fraction = 0.5;  // of the parent's, in (0, 1)
  const ImportanceRow* importance = nullptr;
  int latency_batch = 1;  // images of the forward pass that is timed
};

// Reads "flops=0.5". Errors (kUsage).
Result<PruningTerms> pruning_terms_from(const std::string& text);

// Returns the terms as event::Model::settings.
std::string settings_of(const PruningTerms& terms);

// Prunes the parent for a new model, unless the model has its checkpoint from an earlier command;
// sets the model's network and the work's candidate. Returns false if a signal stopped it. Errors:
// kEmpty if so little cannot be left; kStorage; those of train_in_children.
// REQUIRES: as train_in_children.
Result<bool> prune_for(const TrainedNetwork& parent, const PruningTerms& terms, Retraining& work,
                       event::Model& model);

}  // namespace detol::inline models
