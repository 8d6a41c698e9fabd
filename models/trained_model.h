#pragma once

// A trial's network with exactly the weights that gave its value in the knowledge base.

#include <filesystem>

#include "export/export.h"
#include "studies/trial_summary.h"
#include "trainer/checkpoint.h"
#include "trainer/data/preprocessing.h"

namespace detol::inline models {

// StudyData holds what all trials of a study share.
struct StudyData {
  StudyConfig config;
  Preprocessing preprocessing;
  std::optional<Dataset> data = {};  // where they were loaded
};

// Loads them. Errors: kEmpty for a study without networks, kInput, kExport if the data have changed
// since.
Result<StudyData> load_study_data(const OpenStudy& study);

// Reads what the study wrote about its data; loads these where it did not. Errors: as above.
Result<StudyData> describe_study_data(const OpenStudy& study, const std::filesystem::path& storage);

// TrainedNetwork is a network with the state of its training.
struct TrainedNetwork {
  TrialId trial = 0;
  double best_epoch = 0;  // of its weights
  Candidate candidate;
  Genome genome;
  Checkpoint checkpoint;           // best_weights() of it count
  std::vector<float> shares = {};  // of an ensemble's members; empty: it is none
};

// Returns the trial as it was scored. Errors: kEmpty if it was never trained;
// kExport, with the file and what to do, if the checkpoint of its last reported epoch, which has
// the weights of the best one, is missing, damaged, or not the one that was scored.
Result<TrainedNetwork> trained_network(const OpenStudy& study, const StudyData& shared,
                                       const std::filesystem::path& storage,
                                       const TrialSummary& trial);

// Returns a network of the study for export, with logits to check against. Errors: kExport.
Result<Model> exported_model(const OpenStudy& study, const StudyData& shared,
                             TrainedNetwork network);

// Returns the network of the trial for export. Errors: as both above.
Result<Model> trained_model(const OpenStudy& study, const StudyData& shared,
                            const std::filesystem::path& storage, const TrialSummary& trial);

}  // namespace detol::inline models
