#pragma once

// A temporary folder, and events to put into a ledger.

#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "knowledge/ledger.h"
#include "knowledge/query.h"
#include "tests/support/temp_folder.h"

namespace detol::testing_support {

class Folder : public TempFolder {
 public:
  Folder() : TempFolder(memory_folder()) {}
  std::filesystem::path operator/(const std::string& name) const { return path() / name; }
  std::size_t size() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(path()), {}));
  }
};

// Returns the value of a Result, or throws its message, which fails the test.
template <typename T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

inline StudyRecord study_named(const std::string& name) {
  StudyRecord record;
  record.name = name;
  record.config = "version: 1\nstudy: " + name + "\n";
  record.budget = "1cpu-h";
  record.data_fingerprint = 0xfedcba9876543210;
  record.objectives = {maximize("val_accuracy")};
  record.created_s = 1700000000.25;
  return record;
}

inline event::Asked asked(TrialId trial) {
  return {trial,       {{"lr", 0.1}, {"op", std::string("conv")}},
          "evolution", "00112233445566aa",
          4242,        1000000,
          10.5};
}
inline event::Started started(TrialId trial, int attempt, const std::string& worker = "w1") {
  return {trial, attempt, worker, 11.0 + attempt};
}
inline event::Reported reported(TrialId trial, int attempt, int epoch, double accuracy) {
  return {trial,       attempt, epoch, {{"val_accuracy", accuracy}, {"val_loss", 1 - accuracy}},
          1e9 * epoch, 2.5};
}
inline event::Told complete(TrialId trial, double accuracy, double epochs = 3) {
  return {trial, TrialState::kComplete, {}, Measured{{accuracy}, epochs, 3e9, false}, 20.0};
}
inline event::Told failed(TrialId trial, Cause cause) {
  return {trial, TrialState::kFail, {EndCause::kFailure}, Failed{cause, 1, 1e9}, 21.0};
}

// Every field of an event as text, so that lists of events can be compared and printed.
std::string describe(const Event& event);
std::vector<std::string> describe(const std::vector<Event>& events);

// Returns a row's cells, joined by '|'.
std::string describe(const std::vector<Cell>& row);

// An open ledger with one study.
struct OneStudy {
  Folder folder;
  std::filesystem::path path = folder / "detol.db";
  std::unique_ptr<Ledger> ledger = must(Ledger::open(path));
  StudyId study = must(ledger->create_study(study_named("s")));

  void append(const std::vector<Event>& events) { must(ledger->append(study, events)); }
  std::vector<Event> events() { return must(ledger->events(study)); }
  void reopen() {
    ledger.reset();
    ledger = must(Ledger::open(path));
  }
};

}  // namespace detol::testing_support
