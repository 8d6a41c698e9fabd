#pragma once

// The network of a model with exactly the weights that were tested.

#include <filesystem>

#include "models/trained_model.h"
#include "studies/model_rows.h"

namespace detol::inline models {

// Returns the error (kEmpty) that the model has no weights to use, unless it is COMPLETE.
Result<void> check_is_complete(const OpenStudy& study, const event::Model& model);

// StoredNetwork: a network that is not its trial's, as later commands read it from its text. The
// order of its layers and weights follows from the text, and may not be that of the one it was made
// of.
struct StoredNetwork {
  std::string architecture;  // event::Model::architecture
  Candidate candidate;       // of that network
  Weights weights;
};

// Errors (kInput): it is too large.
Result<StoredNetwork> stored_network(const Candidate& parent, const Network& network,
                                     const Weights& weights);

// Returns the network of a model, of any kind. Errors: kEmpty if it is not COMPLETE; kExport if its
// checkpoint is missing, damaged, or not what was tested.
Result<TrainedNetwork> network_of(const OpenStudy& study, const StudyData& shared,
                                  const std::filesystem::path& storage, const event::Model& model);

}  // namespace detol::inline models
