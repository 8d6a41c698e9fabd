#include "models/predictions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/json_text.h"
#include "export/read_model.h"
#include "models/model_network.h"
#include "models/retraining.h"
#include "models/test_score.h"
#include "models/trained_model.h"
#include "scheduler/launchers/gpus.h"
#include "scheduler/run/devices.h"
#include "studies/best_trial.h"
#include "trainer/predict.h"
#include "trainer/probabilities.h"

namespace detol::inline models {
namespace {

using Json = nlohmann::ordered_json;

// Names outputs or classes.
class Names {
 public:
  explicit Names(const std::vector<std::string>& names) : names_(names) {}
  std::string operator[](std::size_t k) const {
    return names_.empty() ? std::to_string(k) : names_[k];
  }

  Json object(std::span<const double> values) const {
    Json all = Json::object();
    for (std::size_t k = 0; k < values.size(); ++k) all[(*this)[k]] = values[k];
    return all;
  }

 private:
  const std::vector<std::string>& names_;
};

std::string text_of(const Json& json) {
  return compact(json);
}

// Returns the cells of a row behind its input's name.
std::vector<Cell> answers(const Model& model, const Names& names, std::span<const float> outputs) {
  std::vector<double> values;
  const double decision = logit_of(model.threshold);
  switch (model.task) {
    case TaskKind::kClassification:
      values = softmax(outputs);
      break;
    case TaskKind::kBinary:
      values = {sigmoid(-double{outputs[0]}), sigmoid(double{outputs[0]})};
      break;
    case TaskKind::kMultiLabel:
      for (const float logit : outputs) values.push_back(sigmoid(double{logit}));
      break;
    case TaskKind::kRegression:
      for (std::size_t k = 0; k < outputs.size(); ++k)
        values.push_back(double{outputs[k]} + model.offsets.of_target(k));
      if (values.size() == 1) return {values[0]};
      return {text_of(names.object(values))};
  }
  const std::string probabilities = text_of(names.object(values));
  if (model.task == TaskKind::kMultiLabel) {
    Json labels = Json::array();
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      if (double{outputs[k]} > decision) labels.push_back(names[k]);
    }
    return {text_of(labels), probabilities};
  }
  if (model.threshold != kUsualThreshold)
    return {names[values[1] > model.threshold], probabilities};
  const auto largest = static_cast<std::size_t>(std::ranges::max_element(values) - values.begin());
  return {names[largest], probabilities};
}

Result<std::string> backend_of(const PredictorName& name, bool is_file) {
  if (name.device == "auto" && !is_file) return inference_backend(name.storage, name.model);
  if (name.device != "cuda") return "cpu";
  DETOL_ASSIGN(const auto gpus, gpus_to_join("cuda", "cudnn"));
  select_gpus(gpus, 0);
  return "cudnn";
}

Result<Model> study_model(const PredictorName& name) {
  DETOL_ASSIGN(const OpenStudy study, open_study(name.storage, name.model));
  DETOL_ASSIGN(const StudyData shared, needs_data(name.threshold)
                                           ? load_study_data(study)
                                           : describe_study_data(study, name.storage));
  std::string trained_on = kOnTraining;
  Result<Model> model;
  if (!name.retrained.empty()) {
    DETOL_ASSIGN(const event::Model chosen, model_called(study, name.retrained));
    DETOL_ASSIGN(TrainedNetwork network, network_of(study, shared, name.storage, chosen));
    trained_on = chosen.trained_on;
    model = exported_model(study, shared, std::move(network));
  } else {
    DETOL_ASSIGN(const TrialSummary trial, trial_called(study, name.trial));
    model = trained_model(study, shared, name.storage, trial);
  }
  if (!model || !name.threshold) return model;
  DETOL_ASSIGN(model->threshold,
               threshold_for(*name.threshold, {model->network, model->weights, model->shares},
                             shared, trained_on, inference_backend(name.storage, name.model)));
  return model;
}

// Reads a file, whose threshold is replaced by the one that is given.
Result<Model> file_model(const PredictorName& name) {
  auto model = read_model(name.model);
  if (!model || !name.threshold) return model;
  const Task task{{}, static_cast<int>(outputs_of(*model)), model->task};
  DETOL_TRY(check_has_threshold(task));
  if (!name.threshold->metric.empty())
    return fail(ErrorCode::kUsage,
                fmt::format("{} has no data to choose a threshold by; give --threshold a number",
                            name.model));
  model->threshold = name.threshold->value;
  return model;
}

bool names_a_file(const std::string& model) {
  std::error_code ignored;
  const std::filesystem::path path(model);
  return path.extension() == ".onnx" || path.extension() == ".safetensors" ||
         std::filesystem::is_regular_file(path, ignored);
}

}  // namespace

Predictor::Predictor(Model model, std::string backend)
    : model_(std::move(model)), backend_(std::move(backend)) {
  const Network& network = model_.network;
  preprocessing_.task = {network.input_shape(), static_cast<int>(outputs_of(model_)), model_.task};
  preprocessing_.has_bytes = model_.reads_pixels;
  preprocessing_.mean = model_.mean;
  preprocessing_.deviation = model_.deviation;
  preprocessing_.table = model_.table;
  preprocessing_.offsets = model_.offsets;
  preprocessing_.pictures = model_.pictures;
  preprocessing_.class_names = model_.class_names;
}

Rows Predictor::header() const {
  switch (model_.task) {
    case TaskKind::kMultiLabel:
      return {.columns = {"input", "labels", "probabilities"}, .rows = {}};
    case TaskKind::kRegression:
      if (preprocessing_.task.classes == 1) return {.columns = {"input", "prediction"}, .rows = {}};
      return {.columns = {"input", "predictions"}, .rows = {}};
    case TaskKind::kClassification:
    case TaskKind::kBinary:
      break;
  }
  return {.columns = {"input", "label", "probabilities"}, .rows = {}};
}

Result<Rows> Predictor::answer(const Inputs& inputs) const {
  Rows rows = header();
  if (inputs.names.empty()) return rows;
  const std::vector<float> images = normalised_images(inputs.data, {0, inputs.count()});
  DETOL_ASSIGN(std::vector<float> of_network,
               logits_of(model_.network, model_.weights, images, backend_));
  const std::vector<float> outputs = outputs_from(model_, std::move(of_network));
  const std::size_t width = outputs.size() / inputs.names.size();
  const Names names(model_.class_names);
  for (std::size_t i = 0; i < inputs.names.size(); ++i) {
    std::vector<Cell> row = answers(model_, names, std::span(outputs).subspan(i * width, width));
    row.insert(row.begin(), inputs.names[i]);
    rows.rows.push_back(std::move(row));
  }
  return rows;
}

Result<Predictor> open_predictor(const PredictorName& name) {
  const bool is_file = names_a_file(name.model);
  auto model = is_file ? file_model(name) : study_model(name);
  if (!model) return tl::unexpected(model.error());
  DETOL_ASSIGN(std::string backend, backend_of(name, is_file));
  return Predictor(*std::move(model), std::move(backend));
}

}  // namespace detol::inline models
