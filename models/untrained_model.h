#pragma once

// Models that are made of trained networks without any training: ensembles, networks in eight bits.

#include <filesystem>
#include <functional>
#include <vector>

#include "models/trained_model.h"
#include "studies/model_rows.h"

namespace detol::inline models {

// Returns the row of a model that is not measured yet, of the candidate's network, numbered after
// all others. Errors (kStorage).
Result<event::Model> untrained_model(const OpenStudy& study, TrialId trial, ModelKind kind,
                                     const Candidate& candidate, ModelRecord& record);

// Returns a model's outputs for a range of the data.
using RangeOutputs = std::function<Result<std::vector<float>>(Range range)>;

// Adds the metrics of validation, where there is such a part, then those of the test. Errors: those
// of `outputs`.
Result<void> measure_model(const Dataset& data, const Recipe& recipe, const RangeOutputs& outputs,
                           event::Model& model);

// Writes the weights as the model's checkpoint of model.epochs, durably, and records it. Errors
// (kStorage).
Result<void> keep_model(const OpenStudy& study, const std::filesystem::path& storage,
                        const Candidate& candidate, Weights weights, const event::Model& model,
                        ModelRecord& record);

}  // namespace detol::inline models
