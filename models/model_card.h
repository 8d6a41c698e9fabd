#pragma once

// A model card (Mitchell et al., 2019, "Model Cards for Model Reporting"): what a person should
// know before using an exported network, in Markdown, with the header that Hugging Face reads.

#include <string>

#include "models/trained_model.h"

namespace detol::inline models {

// Returns the card of an exported trial or retrained model (its property `model`): its data, how it
// was found and at which cost, its metrics with their intervals, what it takes and gives. The
// licence is the reader's to fill in. Equal knowledge gives equal bytes. Errors (kStorage): the
// database is damaged.
Result<std::string> model_card(const OpenStudy& study, const StudyData& shared, const Model& model);

}  // namespace detol::inline models
