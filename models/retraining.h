#pragma once

// Retraining: models of one trial, each trained to full length with a seed of its own in a child
// process, then tested. A model is a row from its beginning (TRAINING), and its checkpoints are in
// models/<number>/ of the study's folder, so that the same command goes on after any end.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "models/trained_model.h"
#include "scheduler/run/study_run.h"
#include "studies/model_rows.h"
#include "trainer/evaluator.h"

namespace detol::inline models {

struct Retraining {
  const OpenStudy& study;
  StudyData shared;                     // with the data, whose split says what is trained
  TrialId trial = 0;                    // the parent
  Candidate candidate = {};             // its recipe has the length of the schedule
  std::optional<int> stops_after = {};  // epochs, before the schedule's end; nullopt: there
  std::optional<Checkpoint> from = {};  // of the trial; nullopt: from scratch
  int micro_batches = 1;                // as the trial was trained
  std::int64_t count = 1;               // models, each with a seed
  RunOptions run;                       // storage, backend, devices, workers: models at a time
  std::string trained_on = kOnTraining;
  ModelKind kind = ModelKind::kRetrained;
  std::string settings = {};  // event::Model::settings
  std::int64_t parent = 0;    // event::Model::parent
};

// Returns how many models are trained at the same time.
int models_at_a_time(const RunOptions& run);

// Returns the micro-batches of the trial's last attempt, which are more than 1 where it ran out of
// memory; 1 if there was none. Errors (kStorage).
Result<int> micro_batches_of(const OpenStudy& study, TrialId trial);

// Sets the network and recipe of the trial, and the micro-batches it was trained in. Errors:
// kStorage; kEmpty: it has no network.
Result<void> set_network(const TrialSummary& trial, Retraining& work);

// Returns the unfinished models of an earlier command that asked for the same, or new ones, which
// are not recorded yet. Errors (kStorage).
Result<std::vector<event::Model>> models_to_train(const Retraining& work, ModelRecord& record);

// Returns the folder of a model's checkpoints, and the job that trains it.
std::filesystem::path folder_of(const Retraining& work, const event::Model& model);
Job job_of(const Retraining& work, const event::Model& model);

// Records the models, and trains those that are TRAINING; then tests them, and records each, in
// their order, as COMPLETE or FAIL. Returns false if a signal stopped it. Errors: kStorage; as
// test_metrics; kExport if a checkpoint that was just written cannot be read. REQUIRES: as
// train_in_children.
Result<bool> train_models(const Retraining& work, ModelRecord& record,
                          std::vector<event::Model>& models);

}  // namespace detol::inline models
