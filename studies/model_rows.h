#pragma once

// Models of a study: its tested trials, and what was derived from a trial, as the view v_models has
// them.

#include <filesystem>
#include <span>
#include <vector>

#include "knowledge/ledger.h"
#include "studies/open_study.h"

namespace detol::inline studies {

inline constexpr const char* kOnTraining = "train";  // event::Model::trained_on
inline constexpr const char* kOnValidationToo = "train+validation";
inline constexpr const char* kFromScratch = "scratch";  // event::Model::began_from
inline constexpr const char* kFromCheckpoint = "checkpoint";
inline constexpr const char* kFromMembers = "members";

// Returns the models in the order of their numbers; none where an older detol wrote the database
// last. Errors (kStorage).
Result<std::vector<event::Model>> models_of(const OpenStudy& study);

// Returns the model of that number. Errors: kUsage if it is no number, kEmpty if there is none.
Result<event::Model> model_called(const OpenStudy& study, const std::string& number);

// Returns what is known of a trial whose value is of that epoch; nullptr if its test metrics are
// not.
const event::Model* tested(std::span<const event::Model> models, TrialId trial, double best_epoch);

// Returns a metric of a model; nullopt if it was not measured.
std::optional<double> metric_of(const event::Model& model, std::string_view metric);

// Returns the number after that of the last model, from 1.
std::int64_t next_number(std::span<const event::Model> models);

// Returns {"val_accuracy": 0.9, ...}, {"test_accuracy": 0.9, ...} and
// {"test_accuracy": [0.89, 0.91], ...}; in the first is what training and validation measured.
std::string values_json(const event::Model& model);
std::string test_json(const event::Model& model);
std::string interval_json(const event::Model& model);

// ModelRecord writes models of one study, which nobody else changes while it lives.
class ModelRecord {
 public:
  // Errors: kStorage if a live process runs the study, or the database cannot be written.
  static Result<ModelRecord> open(const std::filesystem::path& storage, const std::string& study);

  // Returns the models in the order of their numbers. Errors (kStorage).
  Result<std::vector<event::Model>> models();

  // Makes what is known of models durable, of all at once. Errors (kStorage).
  Result<void> save(std::span<const event::Model> models);

 private:
  std::unique_ptr<Ledger> ledger_;
  StudyId study_ = 0;
};

}  // namespace detol::inline studies
