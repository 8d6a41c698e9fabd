#include "cli/commands.h"
#include "cli/run_options.h"
#include "knowledge/artefacts.h"
#include "knowledge/studies.h"
#include "models/network_files.h"
#include "scheduler/run/devices.h"
#include "scheduler/run/join_run.h"

namespace detol::inline cli {
namespace {

constexpr double kAnswerS = 10;  // for the master of a run, which may be starting again

// Returns the ranks of each worker. A group of another size than the search's rounds differently.
Result<int> ranks_to_join(const Arguments& arguments, const RunToJoin& run) {
  DETOL_ASSIGN(const int ranks, ranks_from(arguments));
  if (ranks == 0 || ranks == run.group_size) return run.group_size;
  if (run.takes_other_sizes) return ranks;
  return usage_error(
      "group-size is {}, but the search trains in groups of {}; join it with the same size (a "
      "study with training.deterministic: false takes any)",
      ranks, run.group_size);
}

Result<int> run_worker_command(const Arguments& arguments) {
  const std::string study = arguments.text("join");
  JoinOptions options;
  options.log = arguments.globals.log;
  DETOL_ASSIGN(options.workers, workers_from(arguments));
  DETOL_ASSIGN(options.run,
               find_run(artefact_folder(arguments.globals.storage, study), study, kAnswerS));
  DETOL_ASSIGN(options.run.group_size, ranks_to_join(arguments, options.run));
  DETOL_ASSIGN(options.gpus, gpus_to_join(arguments.text("device", "auto"), options.run.backend));
  return join_run(options, program_hooks());
}

}  // namespace

Command worker_command() {
  return {.name = "worker",
          .summary = "train for a search that runs, here or on another machine",
          .options = {{"--join", "STUDY", "the study whose search to join", Option::kRequired},
                      {"-j,--workers", "N|auto",
                       "workers; auto: as many as this machine's GPUs or cores have room for, one "
                       "in a step of Slurm or an MPI job; default: auto"},
                      {"--group-size", "G|auto",
                       "processes of each worker; auto: as many as the search's, and others only "
                       "where training.deterministic is false; default: auto"},
                      one_of("--device", "DEVICE",
                             "what trains; auto: what the search trains on; default: auto",
                             {"auto", "cpu", "cuda"})},
          .examples =
              "  detol worker --join fashion-cnn\n"
              "  detol worker --join fashion-cnn -j 1 --storage /shared/detol.db",
          .run = run_worker_command};
}

}  // namespace detol::inline cli
