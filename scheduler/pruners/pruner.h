#pragma once

// Pruner: decides after each reported epoch whether a trial continues (early stopping), and
// whether a free worker should rather resume a paused trial than begin a new one.
//
// A pure state machine like a Searcher: it depends on no clock and no worker, and applying a
// ledger's reports and withdrawals in their order rebuilds it. Stopping is never a failure: the
// searcher is told the values of a stopped or paused trial. Not thread-safe.

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "encodings/space/trial.h"
#include "encodings/study/study_config.h"

namespace detol::inline scheduler {

enum class Advice {
  kContinue,
  kStop,   // for good
  kPause,  // until promotion() returns it, if ever
};

class Pruner {
 public:
  virtual ~Pruner() = default;

  // Records a trial's value (of the first objective) after so many epochs, a fraction for an early
  // report: that of the report, or of the trial's best one so far where the best epoch counts.
  // Called once per trial and report, in the ledger's order; a value may be NaN.
  virtual Advice judge(TrialId trial, double epochs, double value) = 0;

  // The same with the values of all objectives, for pruners that weigh them against each other; the
  // others judge the first. This is what the driver calls. REQUIRES: a value or more.
  virtual Advice judge_all(TrialId trial, double epochs, std::span<const double> values) {
    return judge(trial, epochs, values.front());
  }

  // Returns the number of epochs before which the trial continues whatever numbers it reports,
  // where that is known: nobody needs to ask. `epochs`: of its last report. May change with every
  // judge().
  virtual double undecided(TrialId /*trial*/, double epochs) { return epochs; }

  // Returns the paused trial that the next free worker should resume, if any.
  virtual std::optional<TrialId> promotion() const { return std::nullopt; }

  // Forgets that the trial is paused: it was promoted, or it has ended for good. Changes nothing
  // about a trial that is not paused.
  virtual void withdraw(TrialId) {}
};

struct PrunerSettings {
  Direction direction = Direction::kMinimize;  // of the first objective
  std::vector<Direction> others = {};          // of the other objectives
  std::vector<bool> fixed = {};  // of all objectives: it does not change with the epochs (a cost)
  int max_epochs = 1;            // a full-length trial
  std::vector<double> early_reports = {};      // epochs, ascending (StudyConfig::early_reports)
  std::map<std::string, std::string> options;  // {"min_resource", "1"}
};

// Returns the settings of a study's pruner.
PrunerSettings pruner_settings_of(const StudyConfig& config);

struct PrunerRow {
  std::string_view name;  // search.pruner
  std::string_view summary;
  Result<std::unique_ptr<Pruner>> (*make)(const PrunerSettings& settings);
  bool pauses = false;        // a trial that it prunes may be resumed
  bool needs_length = false;  // of a whole trial; a command may leave it open (kEndless)
};

// Returns all pruners, in the order in which `detol search --help` prints them.
std::span<const PrunerRow> pruners();

// Errors: an unknown name (kUsage, with a did-you-mean), an unknown or impossible option, or a
// length that is open where it is needed (kInput).
Result<std::unique_ptr<Pruner>> make_pruner(std::string_view name, const PrunerSettings& settings);

}  // namespace detol::inline scheduler
