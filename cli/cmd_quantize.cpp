#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "cli/commands.h"
#include "cli/model_training.h"
#include "cli/test_score.h"
#include "core/clock.h"
#include "core/exit_code.h"
#include "core/hash.h"
#include "export/export.h"
#include "knowledge/artefacts.h"
#include "trainer/data/formats/formats.h"
#include "trainer/predict.h"
#include "trainer/quantization/quantize.h"
#include "trainer/test_metrics.h"

namespace detol::inline cli {
namespace {

constexpr int kImages = 512;  // that show the ranges of tensors
constexpr int kMostImages = 1 << 20;

// Returns the parent's network in eight bits.
Result<StoredNetwork> quantized_network(const ParentModel& parent, const Dataset& data,
                                        std::int64_t images, const std::string& backend) {
  Model model;
  model.network = parent.network.candidate.network;
  model.weights = best_weights(parent.network.checkpoint);
  DETOL_TRY(fold_batch_norms(model));
  Range range = range_of(data.info, DataSplit::kTraining);
  range.count = std::min(range.count, images);
  DETOL_ASSIGN(const QuantizedNetwork made,
               quantized(model.network, model.weights, normalised_images(data, range), backend));
  return stored_network(parent.network.candidate, made.network, made.weights);
}

// Returns what validation measures, as of a trial.
Result<std::vector<Metric>> validation_metrics(const Candidate& candidate, const Weights& weights,
                                               const Dataset& data, const std::string& backend) {
  const Range range = range_of(data.info, DataSplit::kValidation);
  std::vector<Metric> metrics;
  if (range.count == 0) return metrics;
  DETOL_ASSIGN(const auto outputs, outputs_of(candidate.network, weights, data, range, backend));
  for (const TestMetric& metric : metrics_with_intervals(data, range, outputs, candidate.recipe))
    metrics.push_back({"val" + metric.name.substr(metric.name.find('_')), metric.value});
  return metrics;
}

// Returns the checkpoint of a network that is not trained on: after as many epochs as its parent.
Checkpoint checkpoint_of(const ParentModel& parent, const Candidate& candidate, Weights weights,
                         std::vector<Metric> metrics) {
  Checkpoint checkpoint;
  checkpoint.trial = parent.network.trial;
  checkpoint.arch_hash = candidate.arch_hash;
  checkpoint.epoch = std::max(1, parent.network.checkpoint.epoch);
  checkpoint.history = {{.epoch = checkpoint.epoch, .metrics = std::move(metrics)}};
  checkpoint.state.weights = std::move(weights);
  return checkpoint;
}

event::Model new_model(const ParentModel& parent, const OpenStudy& study, const StoredNetwork& made,
                       std::int64_t number, std::int64_t images) {
  return {.model = number,
          .trial = parent.network.trial,
          .kind = kQuantized,
          .state = kComplete,
          .trained_on = parent.model != 0 ? parent.tested.trained_on : "train",
          .began_from = "checkpoint",
          .first = number,
          .network_params = made.candidate.cost.params,
          .flops = made.candidate.cost.flops,
          .dataset = to_hex(study.record.data_fingerprint),
          .folder = fmt::format("models/{}", number),
          .at_s = system_clock().wall_s(),
          .parent = parent.model,
          .settings = nlohmann::ordered_json{{"bits", 8}, {"images", images}}.dump(),
          .architecture = made.architecture};
}

Result<int> run_quantize(const Arguments& arguments) {
  const std::string& storage = arguments.globals.storage;
  DETOL_ASSIGN(const OpenStudy study, open_study(storage, arguments.text("STUDY")));
  DETOL_ASSIGN(const int images, number_at_most(arguments, "images", kImages, kMostImages));
  DETOL_ASSIGN(ModelRecord record, ModelRecord::open(storage, study.record.name));
  DETOL_ASSIGN(const StudyData shared, load_study_data(study));
  DETOL_TRY(check_has_test(study, shared));
  DETOL_ASSIGN(const ParentModel parent, parent_from(arguments, study, shared));
  const std::string backend = inference_backend(storage, study.record.name);
  DETOL_ASSIGN(StoredNetwork made, quantized_network(parent, *shared.data, images, backend));
  const Candidate& candidate = made.candidate;
  DETOL_ASSIGN(const auto known, record.models());
  event::Model model = new_model(parent, study, made, next_number(known), images);
  DETOL_ASSIGN(auto metrics, validation_metrics(candidate, made.weights, *shared.data, backend));
  for (const auto& [name, value] : metrics) model.metrics.emplace_back(name, value);
  DETOL_ASSIGN(const auto tested, test_metrics(candidate.network, made.weights, candidate.recipe,
                                               *shared.data, backend));
  add_metrics(tested, model);
  const Checkpoint checkpoint =
      checkpoint_of(parent, candidate, std::move(made.weights), std::move(metrics));
  model.epochs = checkpoint.epoch;
  const auto folder = artefact_folder(storage, study.record.name) / model.folder;
  remove_checkpoints(folder, 0);
  DETOL_TRY(write_checkpoint(folder, checkpoint));
  DETOL_TRY(record.save({&model, 1}));
  DETOL_TRY(show_models(study, {model}, arguments.globals));
  say_parent(study, parent);
  return kExitDone;
}

}  // namespace

Command quantize_command() {
  return {.name = "quantize",
          .summary = "round a trained network to eight bits, and test it",
          .options = {{"STUDY", "", "its name (detol studies)", Option::kRequired},
                      {"--trial", "best|ID", "which; default: best"},
                      {"--model", "N", "a model instead of a trial"},
                      {"--images", "N",
                       "training images that show the ranges of tensors; default: 512"}},
          .examples =
              "  detol quantize fashion-cnn\n"
              "  detol quantize fashion-cnn --model 3    # such as a pruned one",
          .run = run_quantize};
}

}  // namespace detol::inline cli
