#pragma once

// The members of an ensemble, as its settings name them (ensembles.h).

#include <cstdint>
#include <string>
#include <vector>

#include "models/trained_model.h"
#include "studies/model_rows.h"

namespace detol::inline models {

struct EnsembleMember {
  TrialId trial = 0;
  float weight = 0;        // all add up to 1
  std::int64_t model = 0;  // retrained from the trial; 0: the trial as it was scored
};

// Returns the members of an ensemble. Errors (kStorage): its settings are damaged.
Result<std::vector<EnsembleMember>> members_of(const event::Model& model);

// Returns "34 x 0.28, model 7 x 0.72": trials or models, and weights. Errors: as members_of.
Result<std::string> members_text(const event::Model& model);

// Joins the members' networks, which `candidates` has in their order, to one with their shares and
// no checkpoint. Errors (kExport): they cannot be joined.
Result<TrainedNetwork> joined_network(const std::vector<EnsembleMember>& members,
                                      const std::vector<const Candidate*>& candidates);

// Returns the joined network of an ensemble, with its shares and no checkpoint. Errors: as
// members_of and trial_numbered; kExport: the data are not those of its networks.
Result<TrainedNetwork> ensemble_without_weights(const OpenStudy& study, const StudyData& shared,
                                                const event::Model& model);

}  // namespace detol::inline models
