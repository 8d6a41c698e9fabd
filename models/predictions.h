#pragma once

// Predictions: what a trained network answers for new inputs, as rows.

#include <filesystem>
#include <optional>
#include <string>

#include "export/export.h"
#include "models/thresholds.h"
#include "studies/trial_rows.h"
#include "trainer/data/formats/inputs.h"

namespace detol::inline models {

// Predictor: a trained network from an exported file or a study. Immutable; may be shared between
// threads.
class Predictor {
 public:
  Predictor(Model model, std::string backend);

  // What the inputs must be like.
  const Preprocessing& preprocessing() const { return preprocessing_; }

  // Returns a row for each input. Columns: `input`, its name; of a classification `label` and
  // `probabilities`, JSON by the names of the classes; of several labels `labels`, a JSON list of
  // those with a probability above the threshold, and `probabilities`; of a regression
  // `prediction`, JSON if there are several. Classes without names are called by their numbers,
  // from 0. Errors: the backend cannot run the network.
  Result<Rows> answer(const Inputs& inputs) const;

 private:
  Rows header() const;

  Model model_;
  std::string backend_;
  Preprocessing preprocessing_;
};

// Opens a file that detol exported (.onnx, .safetensors), or a trial of a study. Errors: kInput,
// kStudy, kEmpty or kExport: as read_model and trained_model; kUsage: the device cannot be used.
struct PredictorName {
  std::string model;                   // a file, or a study's name
  std::string trial = "best";          // of a study
  std::string retrained = {};          // of a study, instead of a trial: a model's number
  std::string device = "auto";         // auto, cpu, cuda
  std::filesystem::path storage = {};  // of a study
  std::optional<ThresholdRequest> threshold = {};  // nullopt: the file's, or the usual one
};
Result<Predictor> open_predictor(const PredictorName& name);

}  // namespace detol::inline models
