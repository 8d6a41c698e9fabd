#pragma once

// Ensembles: trials of a study, and models retrained from them, whose networks vote
// (trainer/ensemble.h). A row of v_models, of kind `ensembled`, whose settings name the members:
//
//   {"size": 20, "candidates": 50, "members": [{"trial": 3, "weight": 0.4},
//    {"trial": 3, "model": 7, "weight": 0.6}]}
//
// and whose checkpoint has the weights of all of them, so that it outlives the trials' own.

#include <filesystem>
#include <functional>
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

// Returns the joined network of an ensemble, with its shares and no checkpoint. Errors: as
// members_of and trial_numbered; kExport: the data are not those of its networks.
Result<TrainedNetwork> ensemble_without_weights(const OpenStudy& study, const StudyData& shared,
                                                const event::Model& model);

// EnsembleRequest: what is chosen from, and how much.
struct EnsembleRequest {
  int size = 20;        // networks, each as often as it was added
  int candidates = 50;  // the best trials whose weights are there, beside retrained models
  // Instead: all models that were retrained on the validation data, too, with equal shares.
  bool is_of_all_data = false;
  std::string backend;                        // that runs the networks
  std::function<void()> on_progress = [] {};  // called regularly
};

// Returns whether the ensemble was chosen from as much, into as much.
bool is_of_request(const event::Model& ensemble, const EnsembleRequest& request);

// Chooses an ensemble on the validation data, tests it, and records it. Errors: kEmpty: no trial's
// weights are there, or no model was retrained, or the data have no validation or test part;
// kStorage. REQUIRES: `shared` has the data, without a validation part if it is of all of them.
Result<event::Model> make_ensemble(const OpenStudy& study, const StudyData& shared,
                                   const std::filesystem::path& storage,
                                   const EnsembleRequest& request, ModelRecord& record);

}  // namespace detol::inline models
