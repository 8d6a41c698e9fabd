#pragma once

// Distillation: networks of the space that are trained on what an ensemble says of the training
// images (trainer/distillation.h). Models of kind `distilled`, whose parent is the ensemble.

#include <vector>

#include "models/retraining.h"
#include "studies/model_rows.h"

namespace detol::inline models {

// Records the models, and makes what the ensemble says part of the targets of work.shared.data, by
// this weight (trainer/distillation.h); a file in
// models/<first>/ of the study's folder keeps it for a command that goes on. Returns false if a
// signal stopped it. Errors: as network_of and outputs_of (trainer/ensemble.h); kStorage. REQUIRES:
// as train_in_children.
Result<bool> learn_from(const event::Model& ensemble, double weight, Retraining& work,
                        ModelRecord& record, const std::vector<event::Model>& models);

}  // namespace detol::inline models
