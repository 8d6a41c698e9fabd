#pragma once

// One search as processes of this machine. run_search() turns the calling process into the
// supervisor: single-threaded, no ZeroMQ, no SQLite. It starts the master (ledger, searcher,
// driver) and every worker (a trainer each, or an MPI job of several that train together), all of
// them this same program executed again under a hidden word:
//
//   detol __master <folder> <socket> <supervisor>    detol __worker <folder> <number> <start>
//   <ranks>
//
// `folder` is private to the run (0700, gone at its end) and holds run.json, what was
// settled (settled.json), the socket (master.sock) and, under a live picture, what the
// processes write to stderr. A program that calls run_search must
// therefore hand its arguments to run_role before it looks at them itself.

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/log.h"
#include "core/result.h"
#include "encodings/study_config.h"
#include "scheduler/target.h"
#include "search/searcher.h"
#include "trainer/dataset.h"
#include "trainer/evaluator.h"

namespace detol {

enum class IfExists { kFail, kResume, kNew };      // kNew appends -2, -3, ... to the name
enum class ProgressMode { kLive, kPlain, kNone };  // a picture, lines, or warnings alone

// What starts the workers: this program; whoever started the MPI job that it is one process of;
// the latter if that is so.
enum class Launcher { kLocal, kMpi, kAuto };

inline constexpr int kAutoWorkers = -1;  // as many groups as the cores or GPUs have room for

// A GPU of this machine that workers may use.
struct Gpu {
  std::string id;  // as CUDA_VISIBLE_DEVICES takes it; holds in every process
  std::string name;
  double memory = 0;  // bytes
};

struct RunOptions {
  StudyConfig config;             // to resume: loaded from the ledger's StudyRecord::config
  std::filesystem::path storage;  // the database; its artefacts beside it (knowledge/artefacts.h)
  std::string budget;             // overrides the config's; on resume `+2h` extends; may be empty
  IfExists if_exists = IfExists::kFail;
  bool resume = false;        // `detol resume`: the study must exist
  bool retry_failed = false;  // on resume: trials that crashed or timed out run again
  int workers = 0;            // groups; 0: the config's, else kAutoWorkers
  int group_size = 0;         // ranks that train one trial; 0: the config's, else 1
  Launcher launcher = Launcher::kLocal;
  std::filesystem::path rendezvous = {};  // set by a launcher: where workers that join find the run
  std::string backend = "onednn";
  std::vector<Gpu> gpus = {};  // of a backend that needs them
  int sharing = 1;             // workers that share one, where nobody says how many there are
  std::optional<Target> target;
  ProgressMode progress = ProgressMode::kPlain;
  bool color = false;  // of the live picture
  LogOptions log;
};

// The searcher that a study names, as one knows it who has been told nothing.
Result<std::unique_ptr<Searcher>> searcher_of(const StudyConfig& config);

// What a program may replace in the roles: tests train by formula.
struct Seams {
  std::function<Result<DatasetInfo>(const StudyConfig&)> inspect = inspect_study;
  std::function<Result<std::unique_ptr<Evaluator>>(const StudyConfig&, const TrainerOptions&)>
      make_evaluator = detol::make_evaluator;
  std::function<Result<std::unique_ptr<Searcher>>(const StudyConfig&)> make_searcher = searcher_of;
};

// Runs or resumes a study to its end and returns the program's exit code; what went wrong
// has been printed. SIGTERM, SIGINT and SIGUSR1 stop it (75, resumable); a second one at
// once (130). In an MPI job of several processes each of them calls this. No process of the run is
// left when it returns. REQUIRES: the process has one thread.
int run_search(const RunOptions& options, const Seams& seams = {});

// Plays master or worker if the arguments say so and returns its exit code; nullopt: they
// are an ordinary command line.
std::optional<int> run_role(int argc, char** argv, const Seams& seams = {});

}  // namespace detol
