#include "scheduler/run/devices.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "core/log.h"
#include "core/rng.h"
#include "core/usable.h"
#include "knowledge/query.h"
#include "scheduler/launchers/gpus.h"
#include "trainer/backends.h"
#include "trainer/backends/cuda/probe.h"
#include "trainer/evaluator.h"
#include "trainer/training_memory.h"

namespace detol::inline scheduler {
namespace {

constexpr std::string_view kGpu = "cudnn";
constexpr std::string_view kCpu = "cpu";

tl::unexpected<Error> no_gpu_for(const Budget& budget, std::string_view why) {
  return fail(ErrorCode::kUsage, fmt::format("the budget {} is in gpu- time, but {}; use cpu-h",
                                             to_text(budget), why));
}

// Returns the device's UUID, which is the same in every process; for an instance of a divided GPU
// (MIG) its name in CUDA_VISIBLE_DEVICES.
std::string id_of(const CudaReport& report, std::size_t index) {
  std::string_view visible;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): this process has one thread
  if (const char* setting = std::getenv("CUDA_VISIBLE_DEVICES")) visible = setting;
  for (std::size_t i = 0; i < index && !visible.empty(); ++i)
    visible.remove_prefix(std::min(visible.size(), visible.find(',') + 1));
  const std::string_view word = visible.substr(0, visible.find(','));
  return word.starts_with("MIG-") ? std::string(word) : report.devices[index].uuid;
}

// Returns whether an NVIDIA driver is loaded, so that a user expects its GPUs to be used.
bool has_driver() {
  std::error_code ignored;
  return std::filesystem::exists("/proc/driver/nvidia/version", ignored);
}

Result<void> use_cpu(const StudyConfig& config) {
  if (!config.trains()) return {};
  const auto other = std::ranges::find_if(
      config.precisions, [](const std::string& precision) { return precision != "fp32"; });
  if (other == config.precisions.end()) return {};
  return fail(
      ErrorCode::kInput,
      fmt::format("{}: training.precision may be {}, which the CPU does not have; use fp32, "
                  "or --device cuda on a machine with a GPU",
                  config.precision_at.text, *other));
}

void use_gpus(const CudaReport& report, RunOptions& options) {
  options.backend = kGpu;
  for (std::size_t i = 0; i < report.devices.size(); ++i) {
    const DeviceInfo& device = report.devices[i];
    options.gpus.push_back({id_of(report, i), device.name, static_cast<double>(device.memory)});
  }
}

// Returns the bytes that training the largest of some random candidates takes, with the data.
double bytes_wanted(const StudyConfig& config, const DatasetInfo& data) {
  constexpr std::uint64_t kSamples = 64;
  std::int64_t most = 0;
  for (std::uint64_t i = 0; i < kSamples; ++i) {
    Rng rng = Rng(config.seed).split(i);
    const auto candidate =
        config.candidate(config.space.sample(rng), data.task).and_then([&](Candidate made) {
          return with_training_memory(std::move(made), config.constraints);
        });
    if (candidate) most = std::max(most, candidate->cost.memory.value_or(0));
  }
  const auto images = static_cast<double>(data.training + data.validation);
  return static_cast<double>(most) + images * static_cast<double>(data.task.input.elements());
}

// Sets how many workers share a GPU, if the user set no number of workers and MPS can run them
// concurrently: as many as fit into its memory and have a core each. A program of the user has one
// to itself.
Result<void> share(const DeviceRequest& request, RunOptions& options) {
  const bool is_said = options.config.command || options.workers > 0 ||
                       (options.workers == 0 && options.config.resources.workers > 0);
  if (is_said || options.group_size > 1 || mps_program().empty()) return {};
  DatasetInfo data;
  if (request.data) {
    data = *request.data;
  } else {
    DETOL_ASSIGN(data, inspect_study(options.config));
  }
  double least = options.gpus.front().memory;
  for (const Gpu& gpu : options.gpus) least = std::min(least, gpu.memory);
  const auto cores = static_cast<std::size_t>(usable_cores().count);
  const auto cores_each = static_cast<int>(std::max<std::size_t>(1, cores / options.gpus.size()));
  options.sharing = std::min(cores_each, sharing_for(least, bytes_wanted(options.config, data)));
  return {};
}

}  // namespace

Result<void> choose_device(const DeviceRequest& request, RunOptions& options) {
  options.backend = kCpu;
  const bool wants_gpu_time = request.budget.gpu_s.has_value();
  const bool asks = request.device == "cuda" || wants_gpu_time;
  const bool may_use_gpus = options.config.trains() || (options.config.command && asks);
  const bool is_cpus = request.device == "cpu" || !may_use_gpus;
  if (is_cpus && wants_gpu_time)
    return no_gpu_for(request.budget,
                      request.device == "cpu" ? "device is cpu" : "nothing is trained");
  const bool began_here = !request.previous_backend.empty() && request.previous_backend != kGpu;
  if (is_cpus || (!asks && began_here)) return use_cpu(options.config);
  const Result<CudaReport> report = probe_cuda();
  if (report) {
    use_gpus(*report, options);
    return share(request, options);
  }
  const std::string& why = report.error().message;
  if (wants_gpu_time) return no_gpu_for(request.budget, why);
  if (asks) return fail(ErrorCode::kUsage, fmt::format("device is cuda, but {}; use cpu", why));
  const LogLevel level = has_driver() ? LogLevel::kWarning : LogLevel::kDebug;
  log_line(level, fmt::format("the CPU trains: {}", why));
  return use_cpu(options.config);
}

Result<std::vector<Gpu>> gpus_to_join(const std::string& device, const std::string& backend) {
  const bool needs_gpu = backend == kGpu;
  if (device != "auto" && (device == "cuda") != needs_gpu) {
    return fail(ErrorCode::kUsage,
                fmt::format("device is {}, but the search trains on {}; join it with --device auto",
                            device, needs_gpu ? "cuda" : "cpu"));
  }
  if (!needs_gpu) return std::vector<Gpu>{};
  const Result<CudaReport> report = probe_cuda();
  if (!report)
    return fail(ErrorCode::kUsage, fmt::format("the search trains on cuda, but {}; join it from a "
                                               "machine with a GPU",
                                               report.error().message));
  RunOptions options;
  use_gpus(*report, options);
  return options.gpus;
}

std::string device_name(const RunOptions& options) {
  if (options.gpus.empty()) return "cpu";
  return fmt::format("cuda ({} x {}{})", options.gpus.size(), options.gpus.front().name,
                     options.sharing > 1 ? fmt::format(", {} trials each", options.sharing) : "");
}

Result<std::string> last_backend(const std::string& storage, const std::string& study) {
  DETOL_ASSIGN(const auto reader, Reader::open(storage));
  DETOL_ASSIGN(const StudyRecord record, reader->study(study));
  DETOL_ASSIGN(const std::vector<Event> events, reader->events(record.id));
  std::string backend;
  for (const Event& event : events) {
    const auto* state = std::get_if<event::StudyState>(&event);
    if (state != nullptr && !state->backend.empty()) backend = present_name(state->backend);
  }
  return backend;
}

}  // namespace detol::inline scheduler
