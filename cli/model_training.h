#pragma once

// What the commands that train models share: their options, and what they say of the models.

#include <string>
#include <vector>

#include "command_line/command.h"
#include "models/model_network.h"
#include "models/retraining.h"
#include "studies/model_rows.h"
#include "studies/trial_summary.h"

namespace detol::inline cli {

inline constexpr int kMostSeeds = 1000;

// Returns a whole number from 1 to `most`, or `otherwise` if it was not given. Errors (kUsage).
Result<int> number_at_most(const Arguments& arguments, std::string_view key, int otherwise,
                           int most);

// Sets the network and recipe of the trial in `trials.rows[0]`, and the micro-batches it was
// trained in. Errors: kStorage, kEmpty.
Result<void> set_network(const TrialSummary& trial, Retraining& work);

// Returns --epochs, or else the most of the study. Errors (kUsage).
Result<int> epochs_from(const Arguments& arguments, const StudyConfig& config);

Option workers_option();
Option device_option();

// Returns how the models are trained; the device is chosen as a resume of the study chooses it.
// Errors: as choose_device; kUsage. REQUIRES: the data are loaded.
Result<RunOptions> training_options_of(const Arguments& arguments, const OpenStudy& study,
                                       const StudyData& shared);

// ParentModel: what a model is derived from, by --trial or --model.
struct ParentModel {
  TrainedNetwork network;
  std::int64_t model = 0;  // 0: the trial's own weights
  event::Model tested;     // its row; empty if its test metrics are not known
  std::string trained_on;  // event::Model::trained_on
};

// Where the parent was trained on the validation data, too, they are data to train on from then on.
// Errors: as trained_network and network_of; kUsage: it is an ensemble, or in eight bits.
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
