#include "scheduler/launchers/gpus.h"

#include <unistd.h>

#include <cstdlib>
#include <sstream>

// NOLINTBEGIN(concurrency-mt-unsafe): these processes have one thread.

namespace detol {

void take_gpu(const std::vector<Gpu>& gpus, int seat) {
  if (gpus.empty()) return;
  const Gpu& own = gpus[static_cast<std::size_t>(seat) % gpus.size()];
  ::setenv("CUDA_VISIBLE_DEVICES", own.id.c_str(), 1);
}

std::string mps_program() {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::string program = folder + "/nvidia-cuda-mps-control";
    if (::access(program.c_str(), X_OK) == 0) return program;
  }
  return {};
}

int place_on_machine() {
  for (const char* name : {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"}) {
    if (const char* value = std::getenv(name)) return std::atoi(value);
  }
  return 0;
}

}  // namespace detol

// NOLINTEND(concurrency-mt-unsafe)
