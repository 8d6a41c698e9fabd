#pragma once

// A trial's network with exactly the weights that gave its value in the knowledge base.

#include <filesystem>

#include "cli/trial_rows.h"
#include "export/export.h"

namespace detol::inline cli {

// StudyData holds what all trials of a study share.
struct StudyData {
  StudyConfig config;
  Dataset data;
};

// Loads them. Errors: kEmpty for a study without networks, kInput, kExport if the data have changed
// since.
Result<StudyData> load_study_data(const OpenStudy& study);

// Returns the network of the trial in `trials.rows[row]`, with logits to check against. Errors:
// kEmpty if it was never trained; kExport, with the file and what to do, if the checkpoint of its
// last reported epoch, which has the weights of the best one, is missing, damaged, or not the one
// that was scored.
Result<Model> trained_model(const OpenStudy& study, const StudyData& shared,
                            const std::filesystem::path& storage, const Rows& trials,
                            std::size_t row);

}  // namespace detol::inline cli
