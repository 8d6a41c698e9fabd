#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "cli/commands.h"
#include "cli/model_training.h"
#include "core/exit_code.h"
#include "core/json_text.h"
#include "export/export.h"
#include "models/test_score.h"
#include "models/untrained_model.h"
#include "trainer/data/formats/formats.h"
#include "trainer/predict.h"
#include "trainer/quantization/quantize.h"

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

Result<int> run_quantize(const Arguments& arguments) {
  const std::string& storage = arguments.globals.storage;
  DETOL_ASSIGN(const OpenStudy study, open_study(storage, arguments.text("STUDY")));
  DETOL_ASSIGN(const int images, number_at_most(arguments, "images", kImages, kMostImages));
  DETOL_ASSIGN(ModelRecord record, ModelRecord::open(storage, study.record.name));
  DETOL_ASSIGN(StudyData shared, load_study_data(study));
  DETOL_TRY(check_has_test(study, shared));
  DETOL_ASSIGN(const ParentModel parent, parent_from(arguments, study, shared));
  const Dataset& data = *shared.data;
  const std::string backend = inference_backend(storage, study.record.name);
  DETOL_ASSIGN(StoredNetwork made, quantized_network(parent, data, images, backend));
  const Candidate& candidate = made.candidate;
  DETOL_ASSIGN(event::Model model, untrained_model(study, parent.network.trial,
                                                   ModelKind::kQuantized, candidate, record));
  model.epochs = parent.network.checkpoint.epoch;
  model.trained_on = parent.trained_on;
  model.began_from = kFromCheckpoint;
  model.parent = parent.model;
  model.settings = compact(nlohmann::ordered_json{{"bits", 8}, {"images", images}});
  model.architecture = made.architecture;
  DETOL_TRY(measure_model(
      data, candidate.recipe,
      [&](Range range) {
        return outputs_of(candidate.network, made.weights, data, range, backend);
      },
      model));
  DETOL_TRY(keep_model(study, storage, candidate, std::move(made.weights), model, record));
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
                      {"--model", "N", "a model (v_models) instead of a trial; default: --trial"},
                      {"--images", "N",
                       "training images that show the ranges of tensors; default: 512"}},
          .examples =
              "  detol quantize fashion-cnn\n"
              "  detol quantize fashion-cnn --model 3    # such as a pruned one",
          .run = run_quantize};
}

}  // namespace detol::inline cli
