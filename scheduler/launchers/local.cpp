#include "scheduler/launchers/local.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "trainer/mpi_group.h"

namespace detol {

int ranks_of(const RunOptions& options) {
  if (options.group_size > 0) return options.group_size;
  return std::max(1, options.config.resources.group_size);
}

int workers_of(const RunOptions& options) {
  if (options.workers > 0) return options.workers;
  const int configured = options.config.resources.workers;
  if (options.workers != kAutoWorkers && configured > 0) return configured;
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  return std::max(1, cores / ranks_of(options));
}

Result<GroupLaunch> local_launch(int ranks) {
  if (ranks == 1) return GroupLaunch{};
  const MpiLaunch mpi = mpi_launch(ranks);
  if (::access(mpi.mpiexec.c_str(), X_OK) != 0) {
    return fail(ErrorCode::kUsage,
                fmt::format("group-size is {}, which needs {}; install it, or use --group-size 1",
                            ranks, mpi.mpiexec));
  }
  GroupLaunch launch{.ranks = ranks, .launcher = {mpi.mpiexec}, .environment = mpi.environment};
  launch.launcher.insert(launch.launcher.end(), mpi.words.begin(), mpi.words.end());
  return launch;
}

}  // namespace detol
