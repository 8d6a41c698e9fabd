#pragma once

// Networks of a study as files for other tools, each with its card.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "models/thresholds.h"
#include "studies/model_rows.h"

namespace detol::inline models {

struct FileRequest {
  std::string to;  // the name of an exporter; all: those that this machine has
  std::filesystem::path folder;
  bool is_raw = false;             // without what prepares the data and names the classes
  bool folds_batch_norms = false;  // into the layers before them
  bool verifies = false;           // reads every file back
  std::optional<ThresholdRequest> threshold = {};
};

struct WrittenFile {
  std::string format;
  std::filesystem::path path;
  std::int64_t bytes = 0;
};

// Write and verify the files of a model, or of trials. Errors: kExport; as network_of,
// trained_model and threshold_for. Trials that a program of the user trains have no weights: they
// are written in formats that need none.
Result<std::vector<WrittenFile>> write_model(const OpenStudy& study,
                                             const std::filesystem::path& storage,
                                             const event::Model& chosen,
                                             const FileRequest& request);
Result<std::vector<WrittenFile>> write_trials(const OpenStudy& study,
                                              const std::filesystem::path& storage,
                                              const std::vector<TrialSummary>& trials,
                                              const FileRequest& request);

}  // namespace detol::inline models
