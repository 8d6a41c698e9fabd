#include "scheduler/run/join_run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>

#include "core/exit_code.h"
#include "core/fault.h"
#include "core/file.h"
#include "core/hash.h"
#include "core/host.h"
#include "core/json_text.h"
#include "core/usable.h"
#include "knowledge/studies.h"
#include "scheduler/launchers/gpus.h"
#include "scheduler/launchers/local.h"
#include "scheduler/launchers/rendezvous.h"
#include "scheduler/processes/run_folder.h"
#include "scheduler/processes/signals.h"
#include "scheduler/processes/worker.h"
#include "scheduler/processes/worker_keeper.h"
#include "trainer/collectives/mpi_group.h"

// NOLINTBEGIN(concurrency-mt-unsafe): these processes have one thread.

namespace detol::inline scheduler {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kOptions = "join.json";
constexpr double kFindAgainS = 10;  // for a master to answer a worker whose run was found before

// Seat says which worker of the run this one is, and which devices it takes.
struct Seat {
  std::string id;  // empty: `launched` says which
  std::optional<Launched> launched;
  int start = 1;
  int slot = 0;  // among the workers of this machine
  int ranks = 1;
  double memory = 0;  // bytes; 0: unknown
  int program_threads = 1;
  int previous_status = 0;
};

std::string random_id() {
  std::random_device device;
  return to_hex(std::uint64_t{device()} << 32 | device());
}

// Returns what a launcher has passed on.
std::optional<Launched> launched_here() {
  const char* text = std::getenv(kLaunchedVariable);
  if (text == nullptr) return std::nullopt;
  Launched launched;
  const char* end = text + std::string_view(text).size();
  for (int* number : {&launched.number, &launched.start, &launched.slot}) {
    const auto [next, error] = std::from_chars(text, end, *number);
    if (error != std::errc()) return std::nullopt;
    text = std::min(next + 1, end);
  }
  return launched;
}

// Returns the devices of a worker's ranks that others may share; none on the CPU.
std::vector<std::string> devices_of(const std::vector<Gpu>& gpus, const Seat& seat) {
  std::vector<std::string> devices;
  const int first = seat.slot * seat.ranks;
  for (int index = first; index < first + seat.ranks && !gpus.empty(); ++index)
    devices.push_back(host_name() + "/" + gpus[static_cast<std::size_t>(index) % gpus.size()].id);
  return devices;
}

std::optional<MasterAddress> address_for(const fs::path& file, const std::vector<Gpu>& gpus,
                                         const Seat& seat) {
  auto master = find_master(file, patience(kFindAgainS));
  if (!master) return std::nullopt;
  master->id = seat.launched ? "" : seat.id;
  master->worker = seat.launched ? seat.launched->number : 0;
  master->start = seat.launched ? seat.launched->start : seat.start;
  master->name = fmt::format("{}/{}", host_name(),
                             seat.launched ? seat.launched->number : static_cast<int>(::getpid()));
  master->ranks = seat.ranks;
  master->devices = devices_of(gpus, seat);
  master->memory = seat.memory;
  master->previous_status = seat.previous_status;
  master->program_threads = seat.program_threads;
  return master;
}

// Trains as a rank of `group`; its leader joins the run.
Result<void> train(const fs::path& file, const std::vector<Gpu>& gpus, const Seat& seat,
                   Group& group, const TestHooks& hooks) {
  ignore_signals();  // MPI sets its own handlers
  if (group.rank() == 0) leave_on_signal();
  const auto master = group.rank() == 0 ? address_for(file, gpus, seat) : std::nullopt;
  DETOL_TRY(run_worker(master, group, hooks));
  leave_mpi();
  return {};
}

// Runs this process as a rank of an MPI job, whose processes form groups in the order of their
// ranks.
Result<int> join_as_rank(const JoinOptions& options, const MpiPlace& place,
                         const TestHooks& hooks) {
  const int ranks = options.run.group_size;
  if (place.size % ranks != 0) {
    return fail(ErrorCode::kUsage,
                fmt::format("an MPI job of {} processes forms no groups of {}, in which the search "
                            "trains",
                            place.size, ranks));
  }
  select_gpus(options.gpus, local_rank());
  DETOL_ASSIGN(const auto group, split_mpi_group(place.rank / ranks));
  const Seat seat{.id = random_id(),
                  .launched = launched_here(),
                  .ranks = ranks,
                  .memory = worker_memory(options.gpus, ranks, 1)};
  DETOL_TRY(train(options.run.file, {}, seat, *group, hooks));
  return kExitDone;
}

int workers_here(const JoinOptions& options) {
  if (options.workers > 0) return options.workers;
  const bool is_one_task = mpi_place() || std::getenv("SLURM_STEP_ID") != nullptr;
  if (launched_here() || is_one_task) return 1;
  const auto gpus = static_cast<int>(options.gpus.size());
  return std::max(1, (gpus > 0 ? gpus : usable_cores().count) / options.run.group_size);
}

json to_json(const JoinOptions& options) {
  json gpus = json::array();
  for (const Gpu& gpu : options.gpus) gpus.push_back(gpu.id);
  const int ranks = options.run.group_size;
  const double on_one = ranks * workers_here(options) / std::max(1.0, double(gpus.size()));
  return {{"file", options.run.file.string()},
          {"id", random_id()},
          {"gpus", gpus},
          {"runs_programs", options.run.runs_programs},
          {"memory", worker_memory(options.gpus, ranks, on_one)},
          {"program_threads", usable_cores().count / workers_here(options)},
          {"log_level", static_cast<int>(options.log.level)},
          {"log_file", options.log.file}};
}

}  // namespace

Result<RunToJoin> find_run(const fs::path& artefacts, const std::string& study, double patience_s) {
  std::error_code ignored;
  if (!fs::exists(artefacts, ignored)) {
    const fs::path storage = artefacts.parent_path().replace_extension();
    return fail(ErrorCode::kStudy,
                fmt::format("there is no study '{}' in {} that could be joined; `detol studies` "
                            "lists what there is",
                            study, storage.string()));
  }
  const fs::path file = artefacts / kJoinFile;
  const auto run = read_rendezvous(file);
  if (!run)
    return fail(
        ErrorCode::kStudy,
        fmt::format("study '{}' does not run; start it with `detol resume {}`, then join it", study,
                    study));
  if (run->reach != Reach::kNetwork && !run->is_here) {
    return fail(ErrorCode::kStudy,
                fmt::format("the search of study '{}' runs on {} and can be joined from there "
                            "alone; start it with --listen network",
                            study, run->host));
  }
  if (find_master(file, patience_s))
    return RunToJoin{file, run->group_size, run->runs_programs, run->takes_other_sizes,
                     run->backend};
  return fail(ErrorCode::kStudy,
              fmt::format("the search of study '{}' on {} does not answer; if it was killed, "
                          "`detol resume {}` starts it again",
                          study, run->host, study));
}

Result<int> join_run(const JoinOptions& options, const TestHooks& hooks) {
  const int ranks = options.run.runs_programs ? 1 : options.run.group_size;
  const std::optional<MpiPlace> place = mpi_place();
  if (ranks > 1 && place && place->size > 1) return join_as_rank(options, *place, hooks);
  DETOL_TRY(check_launcher(ranks));
  if (ranks > 1) forget_own_mpi_job();
  DETOL_ASSIGN(const RunFolder folder, RunFolder::make_with(kOptions, compact(to_json(options))));
  DETOL_ASSIGN(GroupLaunch launch, local_launch(ranks, folder));
  launch.ranks = options.run.group_size;
  return keep_workers({.folder = folder.path().string(),
                       .workers = workers_here(options),
                       .launch = std::move(launch),
                       .are_replaced = !launched_here()});
}

Result<void> play_joined(const fs::path& folder, const std::vector<int>& numbers,
                         const TestHooks& hooks) {
  DETOL_ASSIGN(const std::string text, read_file(folder / kOptions));
  const json options = json_or_discarded(text);
  if (!options.is_object()) return fail(ErrorCode::kInternal, (folder / kOptions).string());
  LogOptions log;
  log.level = static_cast<LogLevel>(options.value("log_level", 0));
  log.file = field_or(options, "log_file", std::string());
  DETOL_TRY(set_up_log(log));
  std::vector<Gpu> gpus;
  for (const json& id : options["gpus"]) gpus.push_back({.id = id, .name = {}});
  const std::optional<Launched> launched = launched_here();
  const Seat seat{.id = fmt::format("{}/{}", options.value("id", ""), numbers.at(0)),
                  .launched = launched,
                  .start = numbers.at(1),
                  .slot = numbers.at(0) + (launched ? launched->slot : 0),
                  .ranks = numbers.at(2),
                  .memory = options.value("memory", 0.0),
                  .program_threads = options.value("program_threads", 1),
                  .previous_status = numbers.at(3)};
  const bool is_group = seat.ranks > 1 && !options.value("runs_programs", false);
  const std::optional<MpiPlace> place = is_group ? mpi_place() : std::nullopt;
  select_gpus(gpus, seat.slot * seat.ranks + (place ? place->rank : 0), is_group ? 1 : seat.ranks);
  std::unique_ptr<Group> group;
  if (is_group) {
    DETOL_ASSIGN(group, join_mpi_group());
  }
  return train(field_or(options, "file", std::string()), gpus, seat, group ? *group : alone(),
               hooks);
}

}  // namespace detol::inline scheduler

// NOLINTEND(concurrency-mt-unsafe)
