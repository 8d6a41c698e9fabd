#include "models/network_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace detol::inline models {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMostOnnxParams = (std::int64_t{1} << 31) / 4;  // a file has at most 2 GiB

// Returns the row that writes a file of this name, by its extension.
const ExporterRow& exporter_of(const fs::path& name) {
  return *std::ranges::find(exporters(), name.extension().string(), &ExporterRow::extension);
}

Result<void> write_file(Model& model, const Job& job, const fs::path& path) {
  const ExporterRow& row = exporter_of(path);
  if (row.needs_weights && model.weights.empty()) {
    if (job.candidate.cost.params > kMostOnnxParams)
      return fail(ErrorCode::kExport, fmt::format("{}: {} parameters are too many for ONNX",
                                                  path.string(), job.candidate.cost.params));
    model.weights = initial_weights(model.network, job.seed);
  }
  // What cannot be written is the disk's fault, not the candidate's.
  return row.write(model, path).map_error([](Error error) {
    if (error.system_error != 0) error.code = ErrorCode::kStorage;
    return error;
  });
}

}  // namespace

Model untrained_network(const StudyConfig& config, Candidate candidate, const Genome& genome,
                        TrialId trial) {
  const auto channels = static_cast<std::size_t>(candidate.network.input_shape().channels);
  return {.network = std::move(candidate.network),
          .weights = {},
          .mean = std::vector<float>(channels, 0),
          .deviation = std::vector<float>(channels, 1),
          .class_names = {},
          .properties = {{"study", config.study}, {"trial", std::to_string(trial)}},
          .parameters = genome.assignments(),
          .metrics = {},
          .check = {},
          .task = config.network_task->kind,
          .reads_pixels = false,
          .is_raw = true};
}

Result<void> write_network_files(const StudyConfig& config, const Job& job) {
  Model model = untrained_network(config, job.candidate, job.genome, job.trial);
  for (const std::string_view name : kNetworkFiles) {  // ONNX last, with its weights
    const fs::path path = job.folder / name;
    std::error_code ignored;
    const bool is_wanted = name != kOnnxFile || has_placeholder(*config.command, kOnnxFile);
    if (is_wanted && !fs::exists(path, ignored)) DETOL_TRY(write_file(model, job, path));
  }
  return {};
}

TestHooks program_hooks() {
  TestHooks hooks;
  hooks.make_evaluator = [](const StudyConfig& config, const TrainerOptions& options) {
    TrainerOptions own = options;
    own.write_network = write_network_files;
    return make_evaluator(config, own);
  };
  return hooks;
}

}  // namespace detol::inline models
