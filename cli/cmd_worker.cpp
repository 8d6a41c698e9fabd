#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/devices.h"
#include "cli/run_options.h"
#include "knowledge/artefacts.h"
#include "knowledge/studies.h"
#include "scheduler/run/join_run.h"

namespace detol::inline cli {
namespace {

constexpr double kAnswerS = 10;  // for the master of a run, which may be starting again

// A group of another size would round differently.
Result<void> check_group_size(const Arguments& arguments, const RunToJoin& run) {
  if (arguments.text("group-size", "auto") == "auto") return {};
  DETOL_ASSIGN(const auto ranks, arguments.number("group-size", 1));
  if (*ranks == run.group_size) return {};
  return fail(ErrorCode::kUsage,
              fmt::format("group-size is {}, but the search trains in groups of {}; join it with "
                          "the same size",
                          *ranks, run.group_size));
}

Result<int> run_worker_command(const Arguments& arguments) {
  const std::string study = arguments.text("join");
  JoinOptions options;
  options.log = arguments.globals.log;
  DETOL_ASSIGN(options.workers, workers_from(arguments));
  DETOL_ASSIGN(options.run,
               find_run(artefact_folder(arguments.globals.storage, study), study, kAnswerS));
  DETOL_TRY(check_group_size(arguments, options.run));
  DETOL_ASSIGN(options.gpus, gpus_to_join(arguments.text("device", "auto"), options.run.backend));
  return join_run(options);
}

}  // namespace

Command worker_command() {
  return {.name = "worker",
          .summary = "train for a search that runs, here or on another machine",
          .options = {{"--join", "STUDY", "the study whose search to join", Option::kRequired},
                      {"-j,--workers", "N|auto",
                       "workers; auto: as many as this machine's GPUs or cores have room for, one "
                       "in a step of Slurm or an MPI job"},
                      {"--group-size", "G|auto",
                       "processes of each worker; auto: as many as the search's"},
                      {"--device",
                       "DEVICE",
                       "what trains; auto: what the search trains on",
                       Option::kOptional,
                       {"auto", "cpu", "cuda"}}},
          .examples =
              "  detol worker --join fashion-cnn\n"
              "  detol worker --join fashion-cnn -j 1 --storage /shared/detol.db",
          .run = run_worker_command};
}

}  // namespace detol::inline cli
