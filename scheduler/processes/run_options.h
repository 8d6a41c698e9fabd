#pragma once

// RunOptions: the options of a run of a study, from the command line or from a test program.

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/log.h"
#include "core/result.h"
#include "encodings/study/study_config.h"
#include "encodings/study/target.h"
#include "scheduler/study_opening.h"
#include "search/searcher.h"
#include "trainer/data/dataset.h"
#include "trainer/evaluator.h"

namespace detol::inline scheduler {

// A live view, a line every ten seconds, warnings alone, or a line for every event.
enum class ProgressMode { kLive, kPlain, kNone, kEvents };

// Launcher says what starts the workers: kLocal: this program; kMpi: the MPI job of this process;
// kSlurm: steps of this process's Slurm allocation; kSsh: other hosts; kAuto: the MPI job if there
// is one, else this program.
enum class Launcher { kLocal, kMpi, kAuto, kSlurm, kSsh };

// Returns whether the launcher's workers may be on other machines: they join as others do.
constexpr bool is_remote(Launcher launcher) {
  return launcher == Launcher::kSlurm || launcher == Launcher::kSsh;
}

inline constexpr int kAutoWorkers = -1;  // as many groups as the cores or GPUs have room for
inline constexpr int kNoWorkers = -2;    // only those that join train

// A GPU of this machine that workers may use.
struct Gpu {
  std::string id;  // for CUDA_VISIBLE_DEVICES; the same in every process
  std::string name;
  double memory = 0;  // bytes
};

struct RunOptions {
  StudyConfig config;             // to resume: loaded from the ledger's StudyRecord::config
  std::filesystem::path storage;  // the database; its artefacts beside it (knowledge/artefacts.h)
  std::optional<BudgetChange> budget = {};  // of a study that is there; of a new one its total
  IfExists if_exists = IfExists::kFail;
  bool resume = false;        // `detol resume`: the study must exist
  bool retry_failed = false;  // on resume: trials that crashed or timed out run again
  int workers = 0;            // groups; 0: the config's, else kAutoWorkers
  int group_size = 0;         // ranks that train one trial; 0: the config's, else 1
  Launcher launcher = Launcher::kLocal;
  std::vector<std::string> hosts = {};    // for kSsh: "a", or "a:3" for three workers there
  std::string ssh = {};                   // for kSsh: the program; empty: ssh
  bool listens_to_network = false;        // workers of other machines may join
  std::filesystem::path rendezvous = {};  // set by a launcher: where workers that join find the run
  std::string backend = "cpu";
  std::vector<Gpu> gpus = {};  // for a backend that needs them
  int sharing = 1;             // workers that share a GPU, if `workers` is not given
  std::optional<Target> target;
  ProgressMode progress = ProgressMode::kPlain;
  bool color = false;  // of the live view
  LogOptions log;
};

// TestHooks are functions that a test program may replace; its workers then train by a formula. The
// program `detol` gives its evaluators what lies above the trainer (models/network_files.h).
struct TestHooks {
  std::function<Result<DatasetInfo>(const StudyConfig&)> inspect = inspect_study;
  std::function<Result<std::unique_ptr<Evaluator>>(const StudyConfig&, const TrainerOptions&)>
      make_evaluator = detol::make_evaluator;
  std::function<Result<std::unique_ptr<Searcher>>(const StudyConfig&, SearcherInputs)>
      make_searcher = searcher_of;
};

}  // namespace detol::inline scheduler
