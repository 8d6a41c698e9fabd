#pragma once

// AskSession: how a process outside the search asks a study for trials and tells it their values,
// whoever runs the study: another process, to which the calls go, or nobody, and then this one
// opens it. Should the other process end, the session goes on with the next one, or opens the study
// itself.

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "encodings/space/trial.h"
#include "encodings/study/study_config.h"
#include "scheduler/study_opening.h"

namespace detol::inline scheduler {

struct AskSessionSettings {
  std::filesystem::path storage;            // the database
  std::string study;                        // its name
  std::optional<StudyConfig> config = {};   // begins the study if there is none of the name
  std::optional<BudgetChange> budget = {};  // of a study that is there; of a new one its total
  // Its trials are this process's, and wait for others once it is gone; else they wait for their
  // values. While it has the study open, other processes call this one.
  bool serves = false;
  IfExists if_exists = IfExists::kResume;  // what if there is a study of the name, and a config
  bool retry_failed = false;  // of a study that this process opens: as StudyServiceSettings
  double patience_s = 30;     // for a process that has the study and takes no calls
};

class AskSession {
 public:
  // Errors: kStudy: there is none, and no config; kInput: the study was begun with another config;
  // kStorage; and those of StudyService::open().
  static Result<std::unique_ptr<AskSession>> open(AskSessionSettings settings);
  ~AskSession();

  // Returns the answer to a line (ask_lines.h). What is answered is durable. Errors: as open(), if
  // the study is lost and cannot be had again; kStorage if two processes that ran it ended with
  // this call.
  Result<std::string> call(const std::string& line);

  // Ends the session: trials of this process that are not told wait for whoever asks next. Returns
  // a sentence that says where the study stands; empty where another process runs it.
  Result<std::string> close();

 private:
  class Gate;
  class Local;
  class Remote;
  explicit AskSession(AskSessionSettings settings);
  Result<std::unique_ptr<Gate>> open_gate();
  Result<std::unique_ptr<Gate>> open_here();
  void take_name(const std::string& study);
  void learn(const std::string& line, const std::string& answer);
  void release_all();

  AskSessionSettings settings_;
  const std::string caller_;         // for the ledger (callers.h)
  std::filesystem::path join_file_;  // says where the process is that runs the study
  std::map<TrialId, int> have_;  // trials that this session was given and has not told: attempts
  std::unique_ptr<Gate> gate_;
};

}  // namespace detol::inline scheduler
