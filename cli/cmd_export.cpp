#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "cli/commands.h"
#include "cli/model_options.h"
#include "core/file.h"
#include "core/log.h"
#include "core/table.h"
#include "export/export.h"
#include "models/model_card.h"
#include "models/model_network.h"
#include "models/network_files.h"
#include "models/retraining.h"
#include "models/test_score.h"
#include "models/thresholds.h"
#include "models/trained_model.h"
#include "studies/best_trial.h"

namespace detol::inline cli {
namespace {

namespace fs = std::filesystem;

// Returns the formats that --to names; of all, those that this machine can write.
std::vector<const ExporterRow*> formats_of(const std::string& to) {
  std::vector<const ExporterRow*> rows;
  for (const ExporterRow& row : exporters()) {
    const bool can_write = row.why_not == nullptr || row.why_not().empty();
    if (row.name == to || (to == "all" && can_write)) rows.push_back(&row);
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

void note(std::string_view format, const fs::path& path, Rows& files) {
  std::error_code ignored;
  files.rows.push_back({std::string(format), path.string(),
                        static_cast<std::int64_t>(fs::file_size(path, ignored))});
}

// Returns the name of its files: "fashion-trial7", or "fashion-model3".
std::string stem_of(const Model& model) {
  const char* kind = model.properties.contains("model") ? "model" : "trial";
  return fmt::format("{}-{}{}", model.properties.at("study"), kind, model.properties.at(kind));
}

// Writes and verifies one file, which becomes a row of `files`.
Result<void> write_file(const ExporterRow& row, const Model& model, const Arguments& arguments,
                        Rows& files) {
  const fs::path path =
      fs::path(arguments.text("output", ".")) / (stem_of(model) + std::string(row.extension));
  DETOL_TRY(row.write(model, path));
  if (arguments.has("verify")) DETOL_TRY(row.verify(model, path));
  note(row.name, path, files);
  return {};
}

// Writes and verifies one model in every wanted format, and its card.
Result<void> write_files(Model model, const std::string& card, const Arguments& arguments,
                         Rows& files) {
  model.is_raw = arguments.has("raw");
  if (arguments.has("fold-batch-norm")) DETOL_TRY(fold_batch_norms(model));
  const std::string stem = stem_of(model);
  const std::string to = arguments.text("to");
  for (const ExporterRow* row : formats_of(to)) {
    if (to == "all" && row->name == "pytorch" && !model.shares.empty()) {
      log_info("an ensemble is not written for PyTorch ({})", row->extension);
      continue;
    }
    DETOL_TRY(write_file(*row, model, arguments, files));
  }
  const fs::path path = fs::path(arguments.text("output", ".")) / (stem + ".md");
  DETOL_TRY(write_file_durably(path, card));
  note("card", path, files);
  return {};
}

// Returns what is known of the data; with the data themselves, to compare on, if they are there.
Result<StudyData> data_for(const OpenStudy& study, const fs::path& storage, bool compares) {
  if (!compares) return describe_study_data(study, storage);
  auto loaded = load_study_data(study);
  if (loaded || loaded.error().code == ErrorCode::kEmpty) return loaded;
  DETOL_ASSIGN(StudyData described, describe_study_data(study, storage));
  log_warning("outputs are compared on drawn inputs, not on data: {}", loaded.error().message);
  return described;
}

Result<void> set_threshold(const OpenStudy& study, const StudyData& shared,
                           const std::string& trained_on, const Arguments& arguments,
                           Model& model) {
  DETOL_ASSIGN(const auto request, threshold_from(arguments));
  if (!request) return {};
  DETOL_ASSIGN(
      model.threshold,
      threshold_for(*request, {model.network, model.weights, model.shares}, shared, trained_on,
                    inference_backend(arguments.globals.storage, study.record.name)));
  return {};
}

Result<void> export_model(const OpenStudy& study, const StudyData& shared,
                          const event::Model& chosen, const Arguments& arguments, Rows& files) {
  DETOL_ASSIGN(TrainedNetwork network,
               network_of(study, shared, arguments.globals.storage, chosen));
  DETOL_ASSIGN(Model model, exported_model(study, shared, std::move(network)));
  model.properties.emplace("model", std::to_string(chosen.model));
  DETOL_TRY(set_threshold(study, shared, chosen.trained_on, arguments, model));
  DETOL_ASSIGN(const std::string card, model_card(study, shared, model));
  return write_files(std::move(model), card, arguments, files);
}

Result<void> export_trials(const OpenStudy& study, const StudyData& shared,
                           const std::vector<TrialSummary>& trials, const Arguments& arguments,
                           Rows& files) {
  for (const TrialSummary& trial : trials) {
    DETOL_ASSIGN(Model model, trained_model(study, shared, arguments.globals.storage, trial));
    DETOL_TRY(set_threshold(study, shared, kOnTraining, arguments, model));
    DETOL_ASSIGN(const std::string card, model_card(study, shared, model));
    DETOL_TRY(write_files(std::move(model), card, arguments, files));
  }
  return {};
}

// Writes networks that a program of the user trains, as far as a format needs no weights.
Result<void> export_untrained(const StudyConfig& config, const std::vector<TrialSummary>& trials,
                              const Arguments& arguments, Rows& files) {
  std::vector<const ExporterRow*> formats = formats_of(arguments.text("to"));
  std::erase_if(formats, [](const ExporterRow* row) { return row->needs_weights; });
  if (formats.empty())
    return fail(ErrorCode::kExport,
                fmt::format("study {} scores a {}, which keeps the weights that it trains; --to "
                            "json, dot, svg and pytorch (the class) write a network without them",
                            config.study, config.scorer()));
  for (const TrialSummary& trial : trials) {
    DETOL_ASSIGN(const Genome genome, genome_of(config, trial));
    auto candidate = config.candidate(genome, {});
    if (!candidate) return fail(ErrorCode::kExport, candidate.error().reason);
    Model model = untrained_network(config, *std::move(candidate), genome, trial.id);
    for (const std::string_view name : metric_names(config))
      model.metrics.push_back({std::string(name), metric_of(trial, name)});
    for (const ExporterRow* format : formats)
      DETOL_TRY(write_file(*format, model, arguments, files));
  }
  return {};
}

// Returns the study's config if others train its networks.
Result<std::optional<StudyConfig>> config_of_untrained(const OpenStudy& study) {
  DETOL_ASSIGN(StudyConfig config, load_study_config(study.record.config, study.record.name));
  config.study = study.record.name;
  return config.network_task ? std::optional(std::move(config)) : std::nullopt;
}

Result<int> run_export(const Arguments& arguments) {
  DETOL_TRY(check_one_is_chosen(arguments));
  const fs::path storage = arguments.globals.storage;
  DETOL_ASSIGN(const OpenStudy study, open_study(storage, arguments.text("STUDY")));
  std::vector<TrialSummary> trials;
  event::Model chosen;
  if (arguments.has("model")) {
    DETOL_ASSIGN(chosen, model_called(study, arguments.text("model")));
  } else {
    DETOL_ASSIGN(trials, trials_called(study, arguments.text("trial", "best")));
  }
  Rows files{.columns = {"format", "file", "bytes"}, .rows = {}};
  DETOL_ASSIGN(const auto untrained, config_of_untrained(study));
  if (untrained && !arguments.has("model")) {
    DETOL_TRY(make_folder(arguments.text("output", ".")));
    DETOL_TRY(export_untrained(*untrained, trials, arguments, files));
    return show(files, arguments.globals);
  }
  DETOL_ASSIGN(const auto threshold, threshold_from(arguments));
  DETOL_ASSIGN(const StudyData shared, needs_data(threshold)
                                           ? load_study_data(study)
                                           : data_for(study, storage, arguments.has("verify")));
  DETOL_TRY(make_folder(arguments.text("output", ".")));
  if (arguments.has("model"))
    DETOL_TRY(export_model(study, shared, chosen, arguments, files));
  else
    DETOL_TRY(export_trials(study, shared, trials, arguments, files));
  return show(files, arguments.globals);
}

std::vector<std::string_view> words_of_to() {
  std::vector<std::string_view> words = names_of(exporters());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  words.push_back("all");
  return words;
}

}  // namespace

Command export_command() {
  return {.name = "export",
          .summary = "write a found network with its weights for other tools",
          .options = {{"STUDY", "", "its name; default: the newest study"},
                      {"--trial", "best|ID|pareto", "which; default: best"},
                      {"--model", "N", "a model (v_models) instead of a trial; default: --trial"},
                      {"--to", "FORMAT", "what to write", Option::kRequired, words_of_to()},
                      {"-o,--output", "DIR", "into that folder; default: here"},
                      {"--raw", "", "ONNX without what prepares the data and names the classes"},
                      threshold_option(),
                      {"--fold-batch-norm", "", "fold batch norms into the layers before them"},
                      {"--verify", "", "read every file back and check it"}},
          .examples =
              "  detol export fashion-cnn --to onnx\n"
              "  detol export fashion-cnn --trial 12 --to all -o models --verify\n"
              "  detol export fashion-cnn --trial pareto --to safetensors -o front",
          .run = run_export};
}

}  // namespace detol::inline cli
