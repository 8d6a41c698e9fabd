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

#include "models/ensemble_members.h"
#include "models/trained_model.h"
#include "studies/model_rows.h"

namespace detol::inline models {

// EnsembleRequest: what is chosen from, and how much.
struct EnsembleRequest {
  int size = 20;        // networks, each as often as it was added
  int candidates = 50;  // the best trials whose weights are there, beside retrained models
  // Instead: all models that were retrained on the validation data, too, with equal shares.
  bool is_of_all_data = false;
  std::string backend = {};                   // that runs the networks
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
