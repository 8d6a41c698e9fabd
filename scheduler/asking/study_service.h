#pragma once

// StudyService: a study that this process has opened for writing, and its driver for callers who
// ask and tell. There are no workers. The driver runs on the thread of whoever calls look() where
// no other thread runs it, which saves two switches of threads a call; else, and in between, on a
// thread of its own.

#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/clock.h"
#include "core/result.h"
#include "encodings/study/study_config.h"
#include "scheduler/asking/callers.h"
#include "scheduler/study_opening.h"

namespace detol::inline scheduler {

struct StudyServiceSettings {
  std::filesystem::path storage;            // the database
  std::optional<BudgetChange> budget = {};  // of a study that is there; of a new one its total
  IfExists if_exists = IfExists::kResume;   // what if there is a study of the config's name
  bool must_exist = false;                  // then the config is the study's own
  std::vector<TrialId> own = {};            // trials that this process has from an earlier run
  bool retry_failed = false;  // trials that failed in earlier runs are given out again
  Clock* clock = nullptr;  // null: the machine's; else fits and asks take no time, and no thread of
                           // its own serves the study
  double patience_s = 10;  // for another process to let go of the study
};

// Returns whether a study could not be opened because of another process, and may be soon: that one
// has it locked or, where this one begins studies, began it at the same time.
bool may_be_opened_soon(const Error& error, bool begins);

class StudyService {
 public:
  // Opens the study, or begins it, and starts the thread. Errors: kInput if the candidates of the
  // study are networks that detol trains; kStorage if another process keeps the study locked, with
  // EWOULDBLOCK as system_error; and those of resolve_study(), make_searcher() and make_pruner().
  static Result<std::unique_ptr<StudyService>> open(const StudyConfig& config,
                                                    const StudyServiceSettings& settings);

  // Closes the study: trials of this process that are not told wait for the next run, and calls
  // fail. Thread-safe with calls, as all of Callers' calls are.
  ~StudyService();

  // Calls are posted to it; look() has them answered, maybe before it returns.
  Callers& callers();
  void look();

  const StudyConfig& config() const;

  // Returns how many trials had ended when the study was opened; those that are given out again
  // had not.
  std::size_t ended_before() const;

  // Closes the study now. Returns a sentence that says where it stands. Errors: of the storage.
  Result<std::string> close();

 private:
  class Database;
  struct Parts;
  StudyService(std::unique_ptr<Parts> parts, bool has_thread);

  std::unique_ptr<Parts> parts_;
  std::thread thread_;
};

}  // namespace detol::inline scheduler
