#pragma once

// What a model of a study is derived from: a trial, or another model.

#include <filesystem>
#include <optional>
#include <string>

#include "models/model_network.h"

namespace detol::inline models {

// ModelChoice: which network of a study.
struct ModelChoice {
  std::string trial = "best";             // or its number
  std::optional<std::string> model = {};  // its number; nullopt: the trial
};

struct ParentModel {
  TrainedNetwork network;
  std::int64_t model = 0;  // 0: the trial's own weights
  event::Model tested;     // its row; empty if its test metrics are not known
  std::string trained_on;  // event::Model::trained_on
};

// Where the parent was trained on the validation data, too, they are data to train on from then on.
// Errors: as trained_network and network_of; kUsage: it is an ensemble, or in eight bits.
Result<ParentModel> parent_of(const OpenStudy& study, const std::filesystem::path& storage,
                              const ModelChoice& choice, StudyData& shared);

// Rounds the parent to eight bits, tests that and records it. `images`: of the training data, which
// show the ranges of tensors. Errors: as parent_of and quantized; kStorage.
Result<event::Model> quantize(const OpenStudy& study, const std::filesystem::path& storage,
                              const StudyData& shared, const ParentModel& parent,
                              std::int64_t images, ModelRecord& record);

}  // namespace detol::inline models
