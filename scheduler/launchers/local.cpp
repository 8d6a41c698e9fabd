#include "scheduler/launchers/local.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "core/child_process.h"
#include "core/log.h"
#include "core/usable.h"
#include "trainer/collectives/mpi_group.h"

namespace detol::inline scheduler {

int ranks_of(const RunOptions& options) {
  if (options.group_size > 0) return options.group_size;
  return std::max(1, options.config.resources.group_size);
}

int workers_of(const RunOptions& options) {
  if (options.workers == kNoWorkers) return 0;
  if (options.workers > 0) return options.workers;
  const int configured = options.config.resources.workers;
  if (options.workers != kAutoWorkers && configured > 0) return configured;
  const auto cores = usable_cores().count;
  const auto gpus = static_cast<int>(options.gpus.size());
  return std::max(1, (gpus > 0 ? gpus * options.sharing : cores) / ranks_of(options));
}

void say_if_cores_are_shared(const RunOptions& options) {
  const UsableCores cores = usable_cores();
  const int ranks = workers_of(options) * ranks_of(options);
  if (!options.gpus.empty() || ranks <= cores.count) return;
  log_info("{} processes share {} core{}{}; `-j auto` starts {}", ranks, cores.count,
           cores.count == 1 ? "" : "s", cores.limit.empty() ? "" : " (" + cores.limit + ")",
           std::max(1, cores.count / ranks_of(options)));
}

Result<void> check_launcher(int ranks) {
  if (ranks == 1) return {};
  const std::string mpiexec = mpi_launch(ranks).mpiexec;
  if (::access(mpiexec.c_str(), X_OK) == 0) return {};
  return fail(ErrorCode::kUsage,
              fmt::format("group-size is {}, which needs {}; install it, or use --group-size 1",
                          ranks, mpiexec));
}

Result<GroupLaunch> local_launch(int ranks, const RunFolder& folder) {
  DETOL_TRY(check_launcher(ranks));
  if (ranks == 1) return GroupLaunch{};
  const MpiLaunch mpi = mpi_launch(ranks);
  GroupLaunch launch{.ranks = ranks, .launcher = {mpi.mpiexec}, .environment = mpi.environment};
  launch.launcher.insert(launch.launcher.end(), mpi.words.begin(), mpi.words.end());
  // For Open MPI 4 and 5: a killed group cannot remove its files, so the run's folder holds them.
  for (const char* name : {"OMPI_MCA_orte_tmpdir_base", "PRTE_MCA_prte_tmpdir_base"})
    launch.environment.push_back(fmt::format("{}={}", name, folder.path().string()));
  if (folder.memory().empty()) return launch;
  for (const char* name :
       {"OMPI_MCA_btl_vader_backing_directory", "OMPI_MCA_btl_sm_backing_directory"})
    launch.environment.push_back(fmt::format("{}={}", name, folder.memory().string()));
  return launch;
}

void forget_own_mpi_job() {
  if (!mpi_place()) return;
  std::vector<std::string> names;
  for (char** setting = environ; *setting != nullptr; ++setting) {
    const std::string_view text = *setting;
    if (is_of_mpi_job(text)) names.emplace_back(text.substr(0, text.find('=')));
  }
  for (const std::string& name : names) ::unsetenv(name.c_str());  // NOLINT(concurrency-mt-unsafe)
}

}  // namespace detol::inline scheduler
