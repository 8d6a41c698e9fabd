#pragma once

// Joining a run: workers on this machine that train for a master which did not start them, maybe on
// another machine (scheduler/launchers/rendezvous.h). They come and go at any moment.

#include <filesystem>
#include <string>
#include <vector>

#include "core/log.h"
#include "core/result.h"
#include "scheduler/processes/run_options.h"

namespace detol::inline scheduler {

// RunToJoin is what a running study says of itself.
struct RunToJoin {
  std::filesystem::path file;  // the rendezvous file
  int group_size = 1;
  bool runs_programs = false;  // a worker is one process, whose programs have group_size ranks
  bool takes_other_sizes = false;
  std::string backend;
};

// Launched says which of its workers the supervisor of a run has started by a launcher such as srun
// or ssh. It is passed on as the variable kLaunchedVariable: "<number>:<start>:<slot>".
struct Launched {
  int number = 0;
  int start = 0;
  int slot = 0;  // among the workers of its machine
};
inline constexpr const char* kLaunchedVariable = "DETOL_LAUNCHED";

struct JoinOptions {
  RunToJoin run;
  int workers = kAutoWorkers;
  std::vector<Gpu> gpus = {};  // of this machine, for a backend that needs them
  LogOptions log;
};

// Returns the run of the study with this artefact folder. Does not open the database, which may be
// on a network file system. Errors (kStudy): there is no study in the folder, no run of it, none
// that answers within `patience_s`, or one that this machine cannot join.
Result<RunToJoin> find_run(const std::filesystem::path& artefacts, const std::string& study,
                           double patience_s);

// Trains for the run until it ends; returns 0 then, 75 after a signal (SIGTERM, SIGINT, SIGUSR1,
// SIGHUP) that made the workers hand back their trials and leave, 130 after a second one, or the
// exit code of workers that cannot train here. In an MPI job, where the search trains in groups,
// this process is a rank of one. Errors: kUsage if there is no mpiexec or the job forms no whole
// groups, kStorage without a private folder. REQUIRES: the process has one thread.
Result<int> join_run(const JoinOptions& options, const TestHooks& hooks = {});

// Runs a worker that join_run() has started in `folder`, by its four numbers (worker_keeper.h).
Result<void> play_joined(const std::filesystem::path& folder, const std::vector<int>& numbers,
                         const TestHooks& hooks);

}  // namespace detol::inline scheduler
