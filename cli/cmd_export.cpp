#include <fmt/format.h>

#include <filesystem>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/trial_rows.h"
#include "core/table.h"
#include "export/export.h"
#include "trainer/checkpoint.h"

namespace detol {
namespace {

namespace fs = std::filesystem;

// detol.db -> detol.d/<study>/<trial>
fs::path folder_of(const fs::path& storage, const std::string& study, TrialId trial) {
  return fs::path(storage).replace_extension(".d") / study / std::to_string(trial);
}

std::vector<Metric> metrics_of(const Checkpoint& checkpoint) {
  return checkpoint.history.empty() ? std::vector<Metric>{} : checkpoint.history.back().metrics;
}

// The trial's network with the weights that were scored.
Result<Model> model_of(const OpenStudy& study, const fs::path& storage, const Rows& trial) {
  const auto id = static_cast<TrialId>(std::get<std::int64_t>(cell(trial, 0, "trial")));
  const auto epochs = static_cast<int>(std::get<std::int64_t>(cell(trial, 0, "epochs")));
  if (epochs == 0) return fail(ErrorCode::kEmpty, fmt::format("trial {} was never trained", id));
  DETOL_ASSIGN(const StudyConfig config, load_study_config(study.record.config, study.record.name));
  if (config.function) {
    return fail(ErrorCode::kEmpty,
                fmt::format("study {} scores a function; there is no network to export",
                            study.record.name));
  }
  DETOL_ASSIGN(const Genome genome, genome_of(config, trial, 0));
  DETOL_ASSIGN(const Dataset data, load_dataset(config.data));
  if (data.info.fingerprint != study.record.data_fingerprint) {
    return fail(ErrorCode::kExport, fmt::format("{} is not the data that study {} was trained on",
                                                config.data.path, study.record.name));
  }
  auto candidate = config.candidate(genome, data.info.task);
  if (!candidate) return fail(ErrorCode::kExport, candidate.error().reason);
  DETOL_ASSIGN(Checkpoint checkpoint,
               read_checkpoint(folder_of(storage, study.record.name, id), epochs));
  Model model{.network = std::move(candidate->network),
              .weights = std::move(checkpoint.state.weights),
              .mean = data.mean,
              .deviation = data.deviation,
              .class_names = data.class_names,
              .properties = {{"study", study.record.name},
                             {"trial", std::to_string(id)},
                             {"epoch", std::to_string(epochs)},
                             {"data", config.data.path}},
              .parameters = genome.assignments(),
              .metrics = metrics_of(checkpoint),
              .check = {}};
  DETOL_ASSIGN(model.check, check_logits(model, data));
  return model;
}

// The formats of --to.
std::vector<const ExporterRow*> formats_of(const std::string& to) {
  std::vector<const ExporterRow*> rows;
  for (const ExporterRow& row : exporters()) {
    if (to == "all" || row.name == to) rows.push_back(&row);
  }
  return rows;
}

Result<void> make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (!error) return {};
  return fail(ErrorCode::kExport,
              fmt::format("cannot create the folder {}: {}", folder.string(), error.message()));
}

Result<int> run(const Arguments& arguments) {
  const fs::path storage = arguments.globals.storage;
  DETOL_ASSIGN(const OpenStudy study, open_study(storage, arguments.text("STUDY")));
  DETOL_ASSIGN(const Rows trial, one_trial(study, arguments.text("trial", "best")));
  DETOL_ASSIGN(const Model model, model_of(study, storage, trial));
  const fs::path folder = arguments.text("output", ".");
  DETOL_TRY(make_folder(folder));
  Rows files{.columns = {"format", "file", "bytes"}, .rows = {}};
  for (const ExporterRow* row : formats_of(arguments.text("to"))) {
    const fs::path path = folder / fmt::format("{}-trial{}{}", study.record.name,
                                               model.properties.at("trial"), row->extension);
    DETOL_TRY(row->write(model, path));
    if (arguments.has("verify")) {
      DETOL_TRY(row->verify(model, path));
    }
    std::error_code ignored;
    files.rows.push_back({std::string(row->name), path.string(),
                          static_cast<std::int64_t>(fs::file_size(path, ignored))});
  }
  DETOL_TRY(print_data(render(files, arguments.globals)));
  return 0;
}

std::vector<std::string_view> words_of_to() {
  std::vector<std::string_view> words = names_of(exporters());
  words.push_back("all");
  return words;
}

}  // namespace

Command export_command() {
  return {.name = "export",
          .summary = "write a found network with its weights for other tools",
          .options = {{"STUDY", "", "its name (detol studies)", Option::kRequired},
                      {"--trial", "best|ID", "which one; default: best"},
                      {"--to", "FORMAT", "what to write", Option::kRequired, words_of_to()},
                      {"-o,--output", "DIR", "into that folder; default: here"},
                      {"--verify", "", "read every file back and check it"}},
          .examples =
              "  detol export fashion-cnn --to onnx\n"
              "  detol export fashion-cnn --trial 12 --to all -o models --verify",
          .run = run};
}

}  // namespace detol
