#pragma once

// Test scores: the test metrics of trained networks of a study, measured once and then known.

#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "models/trained_model.h"
#include "studies/model_rows.h"
#include "studies/trial_summary.h"
#include "trainer/test_metrics.h"

namespace detol::inline models {

// TestBench measures networks of one study; it reads the data when the first one is measured.
class TestBench {
 public:
  TestBench(const OpenStudy& study, std::filesystem::path storage)
      : study_(study), storage_(std::move(storage)) {}

  // Returns the trial with its metrics of validation, as recorded, and test:
  // from the knowledge base if they are there, else measured and recorded there. Where another
  // process runs the study, says so and records nothing. Errors: as load_study_data and
  // trained_network; kEmpty if the data have no test part.
  Result<event::Model> of_trial(const TrialSummary& trial);

 private:
  Result<const StudyData*> data();  // reads them at the first call
  Result<event::Model> measure(const TrainedNetwork& network);

  const OpenStudy& study_;
  const std::filesystem::path storage_;
  std::optional<StudyData> data_;
};

// Returns the test metric to say of a tested model: that of the first objective, or else the first.
std::string said_metric(const OpenStudy& study, const event::Model& model);

// Returns "test_accuracy 0.95 (95 % interval 0.94 to 0.96)". REQUIRES: it was tested by that
// metric.
std::string with_interval(const event::Model& model, std::string_view metric);

// Returns the error (kEmpty) that nothing can be tested, unless the data have a test part.
Result<void> check_has_test(const OpenStudy& study, const StudyData& shared);

// Returns "test_accuracy 0.95 ± 0.004": mean and standard deviation over two models or more.
std::string with_deviation(std::span<const event::Model> models, std::string_view metric);

// Adds test metrics to a model.
void add_metrics(const std::vector<TestMetric>& metrics, event::Model& model);

// Returns the backend that runs networks of the study: that of its training, or the CPU's where
// this machine has no such device.
std::string inference_backend(const std::filesystem::path& storage, const std::string& study);

// Logs the best trial's test score beside its value, after a search of that study, and records it.
// Says nothing of a study that trains no network or whose data have no test part; an error is a
// warning. A signal to stop ends the process, with code 0: the search is over.
void say_test_score(const std::filesystem::path& storage, const std::string& study);

}  // namespace detol::inline models
