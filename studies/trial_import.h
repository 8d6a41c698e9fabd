#pragma once

// Trials that another program measured become a study. The whole file is read and checked before
// anything is written, so that a bad row leaves no study.

#include "studies/trial_file.h"
#include "trainer/data/dataset.h"

namespace detol::inline studies {

// Reads a database of Optuna or a trial file, without the trials that are not over; an empty
// file.metric is the first objective. Says what is left out. Errors: as read_trial_file and
// read_optuna; kUsage: no objective is called like the metric; kInput: no trial is over.
Result<std::vector<TrialHistory>> read_finished(const TrialFile& file, const StudyConfig& config);

// Makes them the study of that config. `data`: empty where they are unknown, and networks with
// them. Errors: kInput: a trial is no candidate of the space, or lacks an objective; as add_study.
Result<void> import_trials(const std::filesystem::path& storage, const StudyConfig& config,
                           const DatasetInfo& data, std::vector<TrialHistory> histories);

}  // namespace detol::inline studies
