#include "models/parent_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/json_text.h"
#include "models/test_score.h"
#include "models/untrained_model.h"
#include "studies/best_trial.h"
#include "trainer/data/formats/formats.h"
#include "trainer/predict.h"
#include "trainer/quantization/quantize.h"
#include "trainer/trainer.h"

namespace detol::inline models {
namespace {

// Returns an error unless the model is one network whose weights may change.
Result<void> check_has_floats(const event::Model& model) {
  if (model.kind == ModelKind::kEnsembled)
    return fail(ErrorCode::kUsage,
                fmt::format("model {} is an ensemble; take one of its trials", model.model));
  if (model.kind == ModelKind::kQuantized)
    return fail(ErrorCode::kUsage,
                fmt::format("model {} is in eight bits; take what it was made of", model.model));
  return {};
}

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

}  // namespace

Result<ParentModel> parent_of(const OpenStudy& study, const std::filesystem::path& storage,
                              const ModelChoice& choice, StudyData& shared) {
  if (choice.model) {
    DETOL_ASSIGN(const event::Model model, model_called(study, *choice.model));
    DETOL_TRY(check_has_floats(model));
    DETOL_ASSIGN(TrainedNetwork network, network_of(study, shared, storage, model));
    if (model.trained_on == kOnValidationToo) train_on_validation(shared.data->info);
    return ParentModel{std::move(network), model.kind == ModelKind::kTestedTrial ? 0 : model.model,
                       model, model.trained_on};
  }
  DETOL_ASSIGN(const TrialSummary trial, trial_called(study, choice.trial));
  DETOL_ASSIGN(TrainedNetwork network, trained_network(study, shared, storage, trial));
  DETOL_ASSIGN(const auto models, models_of(study));
  const event::Model* known = tested(models, trial.id, trial.best_epoch);
  return ParentModel{std::move(network), 0, known != nullptr ? *known : event::Model{},
                     kOnTraining};
}

Result<event::Model> quantize(const OpenStudy& study, const std::filesystem::path& storage,
                              const StudyData& shared, const ParentModel& parent,
                              std::int64_t images, ModelRecord& record) {
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
  return model;
}

}  // namespace detol::inline models
