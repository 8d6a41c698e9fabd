#pragma once

// The loss landscape of a trial: it is trained once more, and the loss is measured around its final
// weights, and in the plane of its path. What was found is a file of the study's artefacts,
// landscapes/<trial>.json, which reports show:
//
//   {"trial", "epochs", "images", "loss": at the end, "repeats": whether every
//    reported number came out the same,
//    "random": {"x", "y", "loss": a row for each y},
//    "path": {"x", "y", "loss", "explained": [2], "points": {"epoch", "x", "y", "loss"}}}
//
// The loss of a point is of the validation data after that epoch; null: before the first, or not
// finite.

#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "models/trained_model.h"
#include "studies/trial_summary.h"

namespace detol::inline models {

// TrainedAgain: the weights that a training passed, and what it reported.
struct TrainedAgain {
  Candidate candidate;
  std::vector<Weights> path;   // scored ones: the initial ones, and after some epochs, the last too
  std::vector<int> epochs;     // of each of the path
  std::vector<double> losses;  // likewise; NaN before the first epoch
  bool repeats = true;         // all numbers are those that the trial reported
};

struct LandscapeSettings {
  int points = 21;   // of each side of a grid, odd
  int images = 512;  // at most, of the validation data
  std::string backend;
};

// Trains the trial in `trials.rows[0]` once more, with its own seed, as far as it came. `folder` is
// emptied, used for checkpoints and removed. Errors: kEmpty for a trial without a whole epoch, with
// inherited weights, or that took another's outcome; kFailures if it fails now; kStorage.
Result<TrainedAgain> train_again(const OpenStudy& study, const StudyData& shared,
                                 const TrialSummary& trial, const std::string& backend,
                                 const std::filesystem::path& folder);

// Measures the loss, and returns the file's object. Errors: as losses_on.
Result<nlohmann::ordered_json> measure_landscape(const TrainedAgain& trained,
                                                 const StudyData& shared,
                                                 const LandscapeSettings& settings);

// Returns the folder of the files, of which each is named after its trial.
std::filesystem::path landscape_folder(const std::filesystem::path& artefacts);

}  // namespace detol::inline models
