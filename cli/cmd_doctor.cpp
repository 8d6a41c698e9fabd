// `doctor`: reports what this machine and this build have for a search, and what they lack.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "core/exit_code.h"
#include "core/host.h"
#include "core/peak.h"
#include "core/usable.h"
#include "knowledge/storage/storage_place.h"
#include "scheduler/launchers/gpus.h"
#include "trainer/backends/cpu/backend.h"
#include "trainer/backends/cuda/probe.h"
#include "trainer/collectives/mpi_group.h"

namespace detol::inline cli {
namespace {

// Finding: `state` is ok, missing (a search runs without it) or broken (no search can run here).
struct Finding {
  std::string what, state, finding;
};
using Findings = std::vector<Finding>;

constexpr const char* kOk = "ok";
constexpr const char* kMissing = "missing";
constexpr const char* kBroken = "broken";

Finding program() {
  return {"program", kOk,
          fmt::format("detol {}, {} {}", DETOL_VERSION, DETOL_COMPILER, DETOL_BUILD_TYPE)};
}

// Returns what a search has of all, and why it is less.
std::string share(const std::string& part, const std::string& all, const char* unit,
                  const std::string& limit) {
  if (limit.empty()) return fmt::format("{} {}", all, unit);
  return fmt::format("{} of {} {} ({})", part, all, unit, limit);
}

std::string cores() {
  const UsableCores usable = usable_cores();
  return share(std::to_string(usable.count), std::to_string(usable.of_machine), "cores",
               usable.limit);
}

Finding processor() {
  const std::string name = processor_name();
  double peak = 0;
  for (int i = 0; i < 5; ++i) peak = std::max(peak, probe_fma());
  return {"processor", kOk,
          fmt::format("{}, {}, {}, {:.0f} GFLOP/s per core",
                      name.empty() ? "a processor without a name" : name, cores(), cpu_vectors(),
                      peak)};
}

Finding memory() {
  constexpr double kGib = 1 << 30;
  const UsableMemory usable = usable_memory();
  const auto gib = [](std::int64_t bytes) {
    return fmt::format("{:.1f}", static_cast<double>(bytes) / kGib);
  };
  return {"memory", kOk,
          fmt::format("{}, {} free",
                      share(gib(usable.bytes), gib(usable.of_machine), "GiB", usable.limit),
                      gib(usable.free))};
}

Finding storage(const std::string& database) {
  const auto place = storage_place(database);
  if (!place) return {"storage", kBroken, place.error().message};
  return {"storage", kOk,
          fmt::format("{} on {}, files can be locked{}", place->folder, place->file_system,
                      place->is_on_network ? "; a network: read it on this machine alone" : "")};
}

Finding mpi() {
  const std::string mpiexec = mpi_launch(2).mpiexec;
  const std::string name = mpi_name();
  if (name.empty())
    return {"MPI", kMissing, "no MPI can be loaded: a trial is trained by one process"};
  if (::access(mpiexec.c_str(), X_OK) == 0) return {"MPI", kOk, name + ", " + mpiexec};
  return {"MPI", kMissing,
          fmt::format("{} is not there: a trial is trained by one process", mpiexec)};
}

void add_library(Findings& findings, const char* what, const std::string& number,
                 const char* without) {
  findings.push_back({what, number.empty() ? kMissing : kOk, number.empty() ? without : number});
}

Finding sharing() {
  const std::string mps = mps_program();
  if (!mps.empty()) return {"MPS", kOk, mps + ": several small trials share a GPU"};
  return {"MPS", kMissing,
          "nvidia-cuda-mps-control is not there: one trial per GPU, unless -j says more"};
}

Findings gpus() {
  const Result<CudaReport> report = probe_cuda();
  if (!report) return {{"GPU", kMissing, report.error().message}};
  Findings findings;
  for (const DeviceInfo& device : report->devices) {
    constexpr double kGiB = 1 << 30;
    findings.push_back({"GPU", kOk,
                        fmt::format("{}, {:.0f} GiB, {:.0f} free, compute capability {}.{}, {}",
                                    device.name, static_cast<double>(device.memory) / kGiB,
                                    static_cast<double>(device.free_memory) / kGiB, device.major,
                                    device.minor, device.uuid)});
  }
  add_library(findings, "NVIDIA driver", report->driver, "does not say its version");
  add_library(findings, "CUDA runtime", report->runtime, "not found");
  add_library(findings, "cuDNN", report->cudnn, "not found");
  add_library(findings, "cuBLASLt", report->cublas, "not found");
  add_library(findings, "NCCL", report->nccl, "not found: groups add up gradients through MPI");
  findings.push_back(sharing());
  return findings;
}

Result<int> run_doctor(const Arguments& arguments) {
  Findings findings = {program(), processor(),
                       memory(),  storage(arguments.globals.storage),
                       mpi(),     {"oneDNN", kOk, onednn_version()}};
  std::ranges::move(gpus(), std::back_inserter(findings));
  Rows rows{.columns = {"what", "state", "finding"}, .rows = {}};
  for (const Finding& one : findings) rows.rows.push_back({one.what, one.state, one.finding});
  DETOL_TRY(print_rows(rows, arguments.globals));
  const bool is_broken =
      std::ranges::any_of(findings, [](const Finding& one) { return one.state == kBroken; });
  return is_broken ? kExitIncomplete : kExitDone;
}

}  // namespace

Command doctor_command() {
  return {.name = "doctor",
          .summary = "what this machine has for a search, and what it lacks",
          .options = {},
          .examples = "  detol doctor\n  detol doctor -f json",
          .run = run_doctor};
}

}  // namespace detol::inline cli
