#pragma once

// What commands that choose, train or use models share: their options, and what they say of models.

#include <optional>
#include <string>
#include <vector>

#include "command_line/command.h"
#include "models/parent_model.h"
#include "models/retraining.h"
#include "models/thresholds.h"
#include "studies/model_rows.h"
#include "studies/trial_summary.h"

namespace detol::inline cli {

// Errors (kUsage): both --trial and --model were given.
Result<void> check_one_is_chosen(const Arguments& arguments);

Option threshold_option();

// Returns nullopt if none is given. Errors (kUsage): as threshold_from(text).
Result<std::optional<ThresholdRequest>> threshold_from(const Arguments& arguments);

inline constexpr int kMostSeeds = 1000;

// Returns a whole number from 1 to `most`, or `otherwise` if it was not given. Errors (kUsage).
Result<int> number_at_most(const Arguments& arguments, std::string_view key, int otherwise,
                           int most);

// Returns --epochs, or else the most of the study. Errors (kUsage).
Result<int> epochs_from(const Arguments& arguments, const StudyConfig& config);

Option workers_option();
Option device_option();

// Returns how the models are trained; the device is chosen as a resume of the study chooses it.
// Errors: as choose_device; kUsage. REQUIRES: the data are loaded.
Result<RunOptions> training_options_of(const Arguments& arguments, const OpenStudy& study,
                                       const StudyData& shared);

// Returns what --trial or --model names. Errors: as parent_of; kUsage: both were given.
Result<ParentModel> parent_from(const Arguments& arguments, const OpenStudy& study,
                                StudyData& shared);

// Says the parent's test score, to compare, if it is known.
void say_parent(const OpenStudy& study, const ParentModel& parent);

// Prints models as rows, and says their test metric, with its spread.
Result<void> show_models(const OpenStudy& study, const std::vector<event::Model>& models,
                         const Globals& globals);

// Trains the models (train_models), prints them and says their test metric, with its spread.
// Returns the exit code. Errors: as train_models; kFailures if no model could be trained.
Result<int> train_and_show(const Retraining& work, ModelRecord& record,
                           std::vector<event::Model>& models, const Globals& globals);

}  // namespace detol::inline cli
