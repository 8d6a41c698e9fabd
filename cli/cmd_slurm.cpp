#include <fmt/format.h>

#include <filesystem>

#include "cli/commands.h"
#include "cli/settings.h"
#include "core/program.h"
#include "encodings/study/ready_spaces.h"
#include "knowledge/studies.h"
#include "scheduler/launchers/remote.h"
#include "scheduler/launchers/slurm_script.h"
#include "scheduler/run/preflight.h"

namespace detol::inline cli {
namespace {

namespace fs = std::filesystem;

// The options of `search` that are passed on as they are.
constexpr std::string_view kPassedOn[] = {"algorithm", "pruner",     "seed",   "data",
                                          "set",       "group-size", "device", "target"};

Result<StudyConfig> checked_config(const Arguments& arguments) {
  DETOL_ASSIGN(StudyConfig config, read_space(arguments));
  DETOL_TRY(check_new_name(config.study));
  DETOL_TRY(check_study(config));
  return config;
}

std::vector<std::string> search_words(const Arguments& arguments, const StudyConfig& config) {
  std::vector<std::string> words = {program_path().string(),
                                    "search",
                                    "--space",
                                    fs::absolute(find_space(arguments.text("space"))).string(),
                                    "--study",
                                    config.study,
                                    "--storage",
                                    fs::absolute(arguments.globals.storage).string(),
                                    "--if-exists",
                                    "resume",
                                    "--launcher",
                                    "slurm",
                                    "--progress",
                                    "plain"};
  if (!config.budget.empty()) words.insert(words.end(), {"--budget", config.budget});
  for (const std::string_view key : kPassedOn) {
    for (const std::string& value : arguments.all(key))
      words.insert(words.end(), {fmt::format("--{}", key), value});
  }
  return words;
}

Result<SlurmJob> job_from(const Arguments& arguments, const StudyConfig& config) {
  const std::string beside =
      fmt::format("{}.slurm-{}", fs::absolute(arguments.globals.storage).string(), config.study);
  SlurmJob job{.study = config.study,
               .script = beside + ".sh",
               .log = beside + ".log",
               .folder = fs::current_path(),
               .command = search_words(arguments, config),
               .time = arguments.text("time"),
               .partition = arguments.text("partition"),
               .options = arguments.all("SBATCH")};
  DETOL_ASSIGN(const auto nodes, arguments.number("nodes", 1));
  job.nodes = nodes.value_or(1);
  if (!job.time.empty() && !slurm_seconds(job.time)) {
    return usage_error("time is '{}'; it must be minutes, hours:minutes:seconds or days-hours",
                       job.time);
  }
  if (job.partition.find_first_of(" \t\n") != std::string::npos)
    return usage_error("partition has a blank in its name");
  return job;
}

Result<int> run_slurm(const Arguments& arguments) {
  DETOL_ASSIGN(const StudyConfig config, checked_config(arguments));
  DETOL_ASSIGN(const SlurmJob job, job_from(arguments, config));
  if (arguments.has("print")) {
    return show(slurm_script(job));
  }
  DETOL_ASSIGN(const std::string number, submit(job));
  return show_record(Rows{.columns = {"study", "job", "script", "log"},
                          .rows = {{job.study, number, job.script.string(), job.log.string()}}},
                     arguments.globals);
}

}  // namespace

Command slurm_command() {
  return {
      .name = "slurm",
      .summary = "submit a search to Slurm: jobs that follow each other until its budget is spent",
      .options = {{"--space", "FILE", "the space file, or the name of a bundled one, such as cnn",
                   Option::kRequired},
                  {"--budget", "B",
                   "stop after this much time, compute or trials; default: that of the space file, "
                   "else no limit"},
                  {"--nodes", "N", "nodes of each job; default: 1"},
                  {"--time", "T", "time limit of each job, as Slurm writes it; default: Slurm's"},
                  {"--partition", "NAME", "where the jobs run; default: Slurm's"},
                  {"--study", "NAME", "the study's name; default: the file's"},
                  {"--group-size", "G|auto",
                   "processes that train one trial together; auto: 1; default: that of the space "
                   "file, else auto"},
                  one_of("--device", "DEVICE",
                         "what trains; auto: GPUs if the nodes have any; default: auto",
                         {"auto", "cpu", "cuda"}),
                  {"--algorithm", "NAME", "the search algorithm; default: that of the space file"},
                  {"--pruner", "NAME",
                   "early stopping of weak trials; default: that of the space file"},
                  {"--seed", "S",
                   "the seed of every random choice; default: that of the space file, else 0"},
                  {"--data", "PATH", "where the data is; default: the file's data.path"},
                  {"--set", "KEY=VALUE", "change a key of the space file", Option::kRepeated},
                  {"--target", "METRIC>=V", "end the study when a trial gets there; default: none"},
                  {"--print", "", "print the job's script, submit nothing"},
                  {"SBATCH", "", "more options of sbatch, after --", Option::kRepeated}},
      .examples =
          "  detol slurm --space cnn.yaml --budget 500gpu-h --nodes 8 --time 1-0\n"
          "  detol slurm --space cnn.yaml --nodes 2 --print -- --gpus-per-node=4 --account=ml",
      .run = run_slurm};
}

}  // namespace detol::inline cli
