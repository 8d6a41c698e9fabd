// The worker of a user's program is one task with the CPUs and GPUs of the program's ranks.
//
// One step per group: `srun --exact -N1 -n G detol worker --join ...`. Each rank is a task with a
// CPU, and a GPU where GPUs train, so that steps never overlap. A step ends as one when a rank dies
// (--kill-on-bad-exit), and the supervisor starts the next.

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "core/program.h"
#include "scheduler/launchers/local.h"
#include "scheduler/launchers/remote.h"
#include "trainer/collectives/mpi_group.h"

// NOLINTBEGIN(concurrency-mt-unsafe): this process has one thread.

namespace detol::inline scheduler {
namespace {

// Returns the first variable that is set, or "".
std::string_view variable(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (const char* value = std::getenv(name)) return value;
  }
  return {};
}

// Reads a number at the front of `text` and removes it; 0 if there is none.
int take_number(std::string_view& text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return error == std::errc() ? number : 0;
}

}  // namespace

std::vector<int> counts_per_node(std::string_view text) {
  std::vector<int> counts;
  while (!text.empty()) {
    const int count = take_number(text);
    int times = 1;
    if (text.starts_with("(x")) {
      text.remove_prefix(2);
      times = take_number(text);
      if (!text.starts_with(")")) return {};
      text.remove_prefix(1);
    }
    constexpr int kMostNodes = 1'000'000;
    if (count <= 0 || times <= 0 || times > kMostNodes) return {};
    counts.insert(counts.end(), static_cast<std::size_t>(times), count);
    if (text.empty()) break;
    if (!text.starts_with(",") || text.size() == 1) return {};
    text.remove_prefix(1);
  }
  return counts;
}

// Tasks count if the user asked for a number of them, since Slurm else gives each node one task and
// all of its CPUs.
std::vector<int> slurm_devices(const RunOptions& options) {
  const std::string_view tasks = variable({"SLURM_TASKS_PER_NODE"});
  const std::string_view cpus = variable({"SLURM_JOB_CPUS_PER_NODE"});
  const bool wants_tasks = !variable({"SLURM_NTASKS", "SLURM_NPROCS"}).empty();
  std::vector<int> ranks = counts_per_node(wants_tasks ? tasks : cpus);
  std::string_view gpus = variable({"SLURM_GPUS_ON_NODE"});
  if (options.gpus.empty() || gpus.empty()) return ranks;
  std::ranges::fill(ranks, take_number(gpus));
  return ranks;
}

Result<RemoteWorkers> slurm_workers(const RunOptions& options) {
  if (variable({"SLURM_JOB_ID"}).empty()) {
    return fail(ErrorCode::kUsage,
                "launcher is slurm, but this is no Slurm job; start it by salloc or sbatch, or let "
                "`detol slurm` submit it");
  }
  const std::string srun = find_program("srun");
  if (srun.empty())
    return fail(ErrorCode::kUsage, "launcher is slurm, but there is no srun on the PATH");
  const int ranks = ranks_of(options);
  int room = 0;
  for (const int on_node : slurm_devices(options)) room += on_node / ranks;
  if (room == 0) {
    return fail(ErrorCode::kUsage,
                fmt::format("no node of this Slurm job has room for a group of {}; ask for more "
                            "tasks, CPUs or GPUs per node",
                            ranks));
  }
  const int count = options.workers > 0 ? std::min(options.workers, room) : room;
  const int tasks = options.config.command ? 1 : ranks;
  const int devices = ranks / tasks;  // of a task
  std::vector<std::string> step = {srun,
                                   "--exact",
                                   "--kill-on-bad-exit=1",
                                   "-N1",
                                   "-n",
                                   std::to_string(tasks),
                                   fmt::format("-c{}", devices),
                                   "--quiet"};
  if (tasks > 1)
    step.emplace_back(mpi_name().starts_with("Open MPI") ? "--mpi=pmix" : "--mpi=pmi2");
  if (!options.gpus.empty()) step.push_back(fmt::format("--gpus-per-task={}", devices));
  return RemoteWorkers{count, [step, ranks](const RemoteWorker& worker) {
                         std::vector<std::string> words = step;
                         const auto own = worker_words(worker, ranks, 0);
                         words.insert(words.end(), own.begin(), own.end());
                         return words;
                       }};
}

}  // namespace detol::inline scheduler

// NOLINTEND(concurrency-mt-unsafe)
