#include "scheduler/launchers/gpus.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <system_error>

#include "core/program.h"
#include "core/usable.h"
#include "scheduler/launchers/local.h"

// NOLINTBEGIN(concurrency-mt-unsafe): these processes have one thread.

namespace detol::inline scheduler {
namespace {

constexpr const char* kPercentVariable = "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE";

}  // namespace

void select_gpus(const std::vector<Gpu>& gpus, int first, int count) {
  if (gpus.empty()) return;
  std::string ids;
  const int most = std::min(count, static_cast<int>(gpus.size()));
  for (int i = first; i < first + most; ++i)
    ids += (i == first ? "" : ",") + gpus[static_cast<std::size_t>(i) % gpus.size()].id;
  ::setenv("CUDA_VISIBLE_DEVICES", ids.c_str(), 1);
}

void bind_to_cores(int worker, int workers) {
  cpu_set_t allowed, own;
  CPU_ZERO(&own);
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  const int each = CPU_COUNT(&allowed) / std::max(1, workers);
  const int first = worker % std::max(1, workers) * each;
  int seen = 0;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &allowed)) continue;
    if (seen >= first && seen < first + each) CPU_SET(core, &own);
    ++seen;
  }
  if (each > 0) ::sched_setaffinity(0, sizeof own, &own);
}

int sharing_for(double gpu_memory, double bytes_wanted) {
  constexpr double kUsable = 0.9;  // the rest is for the driver and for fragmentation
  const double count = std::floor(kUsable * gpu_memory / (kWorkerReserve + bytes_wanted));
  return static_cast<int>(std::clamp(count, 1.0, double{kMostSharing}));
}

double ranks_per_gpu(const RunOptions& options) {
  if (options.gpus.empty() || !options.rendezvous.empty() || is_remote(options.launcher))
    return 1;  // ranks join from elsewhere
  const double ranks = double{1} * workers_of(options) * ranks_of(options);
  return std::max(1.0, ranks / static_cast<double>(options.gpus.size()));
}

double worker_memory(const std::vector<Gpu>& gpus, int ranks, double on_one) {
  if (gpus.empty()) return static_cast<double>(usable_memory().bytes);
  double least = std::numeric_limits<double>::infinity();
  for (const Gpu& gpu : gpus) least = std::min(least, gpu.memory);
  return std::max(0.0, least / std::max(1.0, std::ceil(on_one)) - kWorkerNeeds) * ranks;
}

Service mps_service(const RunOptions& options, const std::filesystem::path& folder) {
  const std::string program = mps_program();
  std::error_code ignored;
  const bool runs_already = std::getenv("CUDA_MPS_PIPE_DIRECTORY") != nullptr ||
                            std::filesystem::exists("/tmp/nvidia-mps/control", ignored);
  if (program.empty() || ranks_per_gpu(options) <= 1 || runs_already) return {};
  Service service{
      .words = {program, "-f"}, .environment = {}, .folder = folder / "mps", .ready = {}};
  std::filesystem::create_directory(service.folder, ignored);
  service.ready = service.folder / "control";
  for (const char* name : {"CUDA_MPS_PIPE_DIRECTORY", "CUDA_MPS_LOG_DIRECTORY"})
    service.environment.push_back(fmt::format("{}={}", name, service.folder.string()));
  const double percent = std::ceil(2 * 100 / ranks_per_gpu(options));
  if (percent < 100 && std::getenv(kPercentVariable) == nullptr)
    service.environment.push_back(fmt::format("{}={:.0f}", kPercentVariable, percent));
  return service;
}

std::string mps_program() {
  return find_program("nvidia-cuda-mps-control");
}

int local_rank() {
  for (const char* name : {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"}) {
    if (const char* value = std::getenv(name)) return std::atoi(value);
  }
  return 0;
}

}  // namespace detol::inline scheduler

// NOLINTEND(concurrency-mt-unsafe)
