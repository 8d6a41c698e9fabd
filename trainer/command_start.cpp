#include "trainer/command_start.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>

#include "core/json_text.h"
#include "core/program.h"
#include "core/usable.h"
#include "encodings/space/value_json.h"
#include "encodings/study/written_parameters.h"

namespace detol::inline trainer {
namespace {

namespace fs = std::filesystem;

// For jobs of Open MPI: of this user whoever it is, on the cores that this process has.
const std::map<std::string, std::string> kLaunchEnvironment = {
    {"OMPI_ALLOW_RUN_AS_ROOT", "1"},
    {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
    {"OMPI_MCA_hwloc_base_binding_policy", "none"},
    {"OMPI_MCA_rmaps_base_oversubscribe", "1"},
    {"PRTE_MCA_hwloc_default_binding_policy", "none"},
    {"PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"}};

// Returns the paths of the files that say which network the trial has.
std::map<std::string, std::string> network_files(const StudyConfig& config, const Job& job) {
  std::map<std::string, std::string> paths;
  if (!config.has_networks()) return paths;
  for (const std::string_view name : kNetworkFiles) {
    if (name != kOnnxFile || has_placeholder(*config.command, kOnnxFile))
      paths.emplace(name, (job.folder / name).string());
  }
  return paths;
}

// Returns the threads of a rank: what the user says, else the rank's share of the cores. The
// variable of this process is its own (scheduler/processes/child.cpp).
std::string threads_of(const StudyConfig& config, ProgramShape shape) {
  // NOLINTBEGIN(concurrency-mt-unsafe): nobody changes the environment.
  const char* said = std::getenv(kProgramThreadsVariable);
  if (said == nullptr) said = std::getenv("OMP_NUM_THREADS");
  // NOLINTEND(concurrency-mt-unsafe)
  if (said != nullptr && *said != '\0') return said;
  const int share = config.command->binds_cores ? shape.threads / shape.ranks : 1;
  return std::to_string(std::max(1, share));
}

// Returns the words that start a program of several ranks: in a Slurm job a step, inside of the
// step of this worker where it is one.
std::vector<std::string> launch_words() {
  // NOLINTBEGIN(concurrency-mt-unsafe): nobody changes the environment.
  const char* node = std::getenv("SLURMD_NODENAME");
  const bool is_slurm = std::getenv("SLURM_JOB_ID") != nullptr && !find_program("srun").empty();
  if (!is_slurm) return {"mpiexec", "-n", "{ranks}"};
  if (std::getenv("SLURM_STEP_ID") == nullptr || node == nullptr)
    return {"srun", "--exact", "--kill-on-bad-exit=1", "--quiet", "-c1", "-n", "{ranks}"};
  return {"srun", "--overlap", "--kill-on-bad-exit=1", "--quiet", "-w", node, "-n", "{ranks}"};
  // NOLINTEND(concurrency-mt-unsafe)
}

}  // namespace

ProgramStart program_start(const StudyConfig& config, ProgramShape shape, const Job& job) {
  const fs::path checkpoint = job.folder / "checkpoint";
  const std::string steps = config.command->steps > 0 ? std::to_string(config.command->steps) : "";
  // Programs that seed NumPy take at most 32 bits.
  const std::string seed = std::to_string(job.seed % (std::uint64_t{1} << 31));
  std::map<std::string, std::string, std::less<>> texts = {
      {"study", config.study},
      {"seed", seed},
      {"trial.id", std::to_string(job.trial)},
      {"trial.dir", job.folder.string()},
      {"trial.checkpoint", checkpoint.string()},
      {"budget.epochs", steps},
      {"ranks", std::to_string(shape.ranks)}};
  for (const auto& [name, word] : written_parameters(config, job.genome)) texts[name] = word;
  nlohmann::ordered_json parameters = nlohmann::ordered_json::object();
  for (const auto& [name, value] : config.parameters(job.genome))
    parameters[name] = json_value<nlohmann::ordered_json>(value);
  const std::map<std::string, std::string> networks = network_files(config, job);
  for (const auto& [name, path] : networks) texts[name] = path;
  std::vector<std::string> arguments = config.command->run;
  std::error_code ignored;
  if (fs::exists(checkpoint, ignored))
    arguments.insert(arguments.end(), config.command->resume.begin(), config.command->resume.end());
  if (shape.ranks > 1) {
    const auto words = config.command->launch.value_or(launch_words());
    arguments.insert(arguments.begin(), words.begin(), words.end());
  }
  ProgramStart start{.arguments = filled_in(arguments, texts),
                     .environment = config.command->environment,
                     .folder = config.command->folder};
  start.environment.insert({{"DETOL_STUDY", config.study},
                            {"DETOL_TRIAL", std::to_string(job.trial)},
                            {"DETOL_TRIAL_DIR", job.folder.string()},
                            {"DETOL_PARAMS", compact(parameters)},
                            {"DETOL_SEED", seed},
                            {"DETOL_BUDGET_EPOCHS", steps},
                            {"DETOL_REPORT", (job.folder / kReportFile).string()},
                            {"DETOL_CHECKPOINT", checkpoint.string()},
                            {"DETOL_RANKS", std::to_string(shape.ranks)},
                            {"PYTHONUNBUFFERED", "1"}});
  if (shape.ranks > 1)
    start.environment.insert(kLaunchEnvironment.begin(), kLaunchEnvironment.end());
  for (const auto& [name, path] : networks) {
    std::string variable = "DETOL_" + name;  // DETOL_NETWORK_JSON
    for (char& c : variable)
      c = c == '.' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    start.environment.insert({variable, path});
  }
  start.environment.insert({"OMP_NUM_THREADS", threads_of(config, shape)});
  return start;
}

}  // namespace detol::inline trainer
