#include "models/model_files.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/file.h"
#include "core/log.h"
#include "models/model_card.h"
#include "models/model_network.h"
#include "models/network_files.h"
#include "models/test_score.h"

namespace detol::inline models {
namespace {

namespace fs = std::filesystem;

Result<void> make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (!error) return {};
  return fail(ErrorCode::kExport,
              fmt::format("cannot create the folder {}: {}", folder.string(), error.message()));
}

// ModelWriter writes models of one study, and keeps what it wrote.
class ModelWriter {
 public:
  ModelWriter(const OpenStudy& study, const fs::path& storage, const FileRequest& request)
      : study_(study), storage_(storage), request_(request) {}

  // Reads the data, or what is known of them; then makes the folder.
  Result<void> begin() {
    DETOL_ASSIGN(shared_,
                 needs_data(request_.threshold) ? load_study_data(study_) : data_to_compare());
    return make_folder(request_.folder);
  }

  // Writes a model in every wanted format, and its card.
  Result<void> write(Model model, const std::string& trained_on) {
    if (request_.threshold) {
      DETOL_ASSIGN(
          model.threshold,
          threshold_for(*request_.threshold, {model.network, model.weights, model.shares}, shared_,
                        trained_on, inference_backend(storage_, study_.record.name)));
    }
    DETOL_ASSIGN(const std::string card, model_card(study_, shared_, model));
    model.is_raw = request_.is_raw;
    if (request_.folds_batch_norms) DETOL_TRY(fold_batch_norms(model));
    for (const ExporterRow* row : formats()) {
      if (request_.to == "all" && row->name == "pytorch" && !model.shares.empty()) {
        log_info("an ensemble is not written for PyTorch ({})", row->extension);
        continue;
      }
      DETOL_TRY(write_file(*row, model));
    }
    const fs::path path = request_.folder / (stem_of(model) + ".md");
    DETOL_TRY(write_file_durably(path, card));
    note("card", path);
    return {};
  }

  Result<void> write_untrained(const StudyConfig& config, const TrialSummary& trial) {
    DETOL_ASSIGN(const Genome genome, genome_of(config, trial));
    auto candidate = config.candidate(genome, {});
    if (!candidate) return fail(ErrorCode::kExport, candidate.error().reason);
    Model model = untrained_network(config, *std::move(candidate), genome, trial.id);
    for (const std::string_view name : metric_names(config))
      model.metrics.push_back({std::string(name), metric_of(trial, name)});
    for (const ExporterRow* row : formats())
      if (!row->needs_weights) DETOL_TRY(write_file(*row, model));
    return {};
  }

  // Returns the wanted formats; of all, those that this machine can write.
  std::vector<const ExporterRow*> formats() const {
    std::vector<const ExporterRow*> rows;
    for (const ExporterRow& row : exporters()) {
      const bool can_write = row.why_not == nullptr || row.why_not().empty();
      if (row.name == request_.to || (request_.to == "all" && can_write)) rows.push_back(&row);
    }
    return rows;
  }

  const StudyData& shared() const { return shared_; }
  std::vector<WrittenFile> files() && { return std::move(files_); }

 private:
  // Returns what is known of the data; with the data themselves, to compare on, if they are there.
  Result<StudyData> data_to_compare() const {
    if (!request_.verifies) return describe_study_data(study_, storage_);
    auto loaded = load_study_data(study_);
    if (loaded || loaded.error().code == ErrorCode::kEmpty) return loaded;
    DETOL_ASSIGN(StudyData described, describe_study_data(study_, storage_));
    log_warning("outputs are compared on drawn inputs, not on data: {}", loaded.error().message);
    return described;
  }

  // Returns the name of its files: "fashion-trial7", or "fashion-model3".
  static std::string stem_of(const Model& model) {
    const char* kind = model.properties.contains("model") ? "model" : "trial";
    return fmt::format("{}-{}{}", model.properties.at("study"), kind, model.properties.at(kind));
  }

  Result<void> write_file(const ExporterRow& row, const Model& model) {
    const fs::path path = request_.folder / (stem_of(model) + std::string(row.extension));
    DETOL_TRY(row.write(model, path));
    if (request_.verifies) DETOL_TRY(row.verify(model, path));
    note(row.name, path);
    return {};
  }

  void note(std::string_view format, const fs::path& path) {
    std::error_code ignored;
    files_.push_back(
        {std::string(format), path, static_cast<std::int64_t>(fs::file_size(path, ignored))});
  }

  const OpenStudy& study_;
  const fs::path& storage_;
  const FileRequest& request_;
  StudyData shared_;
  std::vector<WrittenFile> files_;
};

}  // namespace

Result<std::vector<WrittenFile>> write_model(const OpenStudy& study, const fs::path& storage,
                                             const event::Model& chosen,
                                             const FileRequest& request) {
  ModelWriter writer(study, storage, request);
  DETOL_TRY(writer.begin());
  DETOL_ASSIGN(TrainedNetwork network, network_of(study, writer.shared(), storage, chosen));
  DETOL_ASSIGN(Model model, exported_model(study, writer.shared(), std::move(network)));
  model.properties.emplace("model", std::to_string(chosen.model));
  DETOL_TRY(writer.write(std::move(model), chosen.trained_on));
  return std::move(writer).files();
}

Result<std::vector<WrittenFile>> write_trials(const OpenStudy& study, const fs::path& storage,
                                              const std::vector<TrialSummary>& trials,
                                              const FileRequest& request) {
  DETOL_ASSIGN(StudyConfig config, load_study_config(study.record.config, study.record.name));
  config.study = study.record.name;
  ModelWriter writer(study, storage, request);
  if (!config.network_task) {
    DETOL_TRY(writer.begin());
    for (const TrialSummary& trial : trials) {
      DETOL_ASSIGN(Model model, trained_model(study, writer.shared(), storage, trial));
      DETOL_TRY(writer.write(std::move(model), kOnTraining));
    }
    return std::move(writer).files();
  }
  DETOL_TRY(make_folder(request.folder));
  if (std::ranges::all_of(writer.formats(), &ExporterRow::needs_weights))
    return fail(ErrorCode::kExport,
                fmt::format("study {} scores a {}, which keeps the weights that it trains; --to "
                            "json, dot, svg and pytorch (the class) write a network without them",
                            config.study, config.scorer()));
  for (const TrialSummary& trial : trials) DETOL_TRY(writer.write_untrained(config, trial));
  return std::move(writer).files();
}

}  // namespace detol::inline models
