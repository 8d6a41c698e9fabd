// Writes a model as JSON for people and scripts: one line per fact and per layer, no weights.

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/json_numbers.h"
#include "encodings/space/value_json.h"
#include "export/architecture.h"
#include "export/formats.h"
#include "export/json_text.h"
#include "export/metadata.h"

namespace detol::inline exporting {
namespace {

using Json = nlohmann::ordered_json;

struct Totals {
  std::int64_t params = 0;
  std::int64_t flops = 0;
};

Json costed_layer(const Network& network, NodeId id, Totals& totals) {
  const Node& node = network.nodes()[id];
  Json layer = layer_json(network, id);
  if (node.inputs.empty()) return layer;
  const std::vector<Shape> inputs = network.input_shapes(id);
  std::int64_t params = 0;
  for (const ParameterSpec& spec : parameters_of(node.layer, inputs)) {
    layer["tensors"][std::string(spec.name)] = spec.shape;
    if (spec.trainable) params += spec.elements();
  }
  const auto flops = static_cast<std::int64_t>(flops_of(node.layer, inputs, node.shape));
  layer["params"] = params;
  layer["flops"] = flops;
  totals.params += params;
  totals.flops += flops;
  return layer;
}

Json check_json_of(const Model& model) {
  const CheckLogits& check = *model.check;
  Json rows = Json::array();
  const std::size_t classes = check.logits.size() / static_cast<std::size_t>(check.count);
  for (std::size_t at = 0; at < check.logits.size(); at += classes) {
    Json row = Json::array();
    for (std::size_t c = 0; c < classes; ++c)
      row.emplace_back(
          json_number<Json>(double{check.logits[at + c]} + model.offsets.of_target(c)));
    rows.push_back(std::move(row));
  }
  return {{"images", check.images}, {"count", check.count}, {output_name(model), std::move(rows)}};
}

Json document(const Model& model) {
  Json properties = Json::object();
  for (const auto& [key, value] : model.properties) properties[key] = value;
  Json parameters = Json::object();
  for (const auto& [name, value] : model.parameters) parameters[name] = json_value<Json>(value);
  Json metrics = Json::object();
  for (const Metric& metric : model.metrics) metrics[metric.name] = json_number<Json>(metric.value);
  Totals totals;
  Json layers = Json::array();
  for (NodeId id = 0; id < model.network.nodes().size(); ++id)
    layers.push_back(costed_layer(model.network, id, totals));
  const Shape& input = model.network.input_shape();
  Json all = {{"format", "detol model 1"},
              {"properties", std::move(properties)},
              {"params", std::move(parameters)},
              {"metrics", std::move(metrics)},
              {"input",
               {{"shape", {input.channels, input.height, input.width}},
                {"pixels", model.reads_pixels ? "[0, 1], before this normalisation"
                                              : "as they are in the data, before this "
                                                "normalisation"},
                {"mean", model.mean},
                {"deviation", model.deviation}}},
              {"task", row_of(model.task).name},
              {"classes", model.class_names},
              {"network", {{"params", totals.params}, {"flops", totals.flops}}},
              {"layers", std::move(layers)}};
  if (has_input_offsets(model)) all["input"]["offsets"] = model.offsets.inputs;
  if (!model.offsets.targets.empty()) all["target_offsets"] = model.offsets.targets;
  if (model.threshold != kUsualThreshold) all["threshold"] = model.threshold;
  if (model.check) all["check"] = check_json_of(model);
  return all;
}

// Writes one line per layer; nlohmann's indentation would give one per number.
std::string lines(const Json& items) {
  std::string text = "[";
  for (std::size_t i = 0; i < items.size(); ++i)
    text += fmt::format("{}\n    {}", i == 0 ? "" : ",", compact(items[i]));
  return text + "\n  ]";
}

}  // namespace

Result<std::string> json_bytes(const Model& model) {
  const Json all = document(model);
  std::string text = "{";
  for (const auto& [key, value] : all.items()) {
    text += fmt::format("{}\n  {}: {}", text.size() == 1 ? "" : ",", compact(Json(key)),
                        key == "layers" ? lines(value) : compact(value));
  }
  return text + "\n}\n";
}

Result<void> compare_json(std::string_view bytes, const Model& model) {
  DETOL_ASSIGN(const nlohmann::json read, parse_json(bytes, "it", kModelJson));
  DETOL_ASSIGN(const std::string expected, json_bytes(model));
  DETOL_ASSIGN(const nlohmann::json own, parse_json(expected, "the model", kModelJson));
  const auto changes = nlohmann::json::diff(own, read);
  if (changes.empty()) return {};
  const auto& first = changes.front();
  const std::string is = first.contains("value") ? compact(first["value"]) : "missing";
  return fail(ErrorCode::kExport, fmt::format("{} is {}, unlike the model's",
                                              first["path"].get<std::string>(), is.substr(0, 80)));
}

}  // namespace detol::inline exporting
