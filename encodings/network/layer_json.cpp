#include "encodings/network/layer_json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "core/json_text.h"

namespace detol::inline encoding {

std::vector<std::pair<std::string, std::string>> settings_of(const Layer& layer) {
  const Layer plain{.kind = layer.kind};
  std::vector<std::pair<std::string, std::string>> settings;
  const auto number = [&](const char* name, auto value, auto usual) {
    if (value != usual) settings.emplace_back(name, fmt::format("{}", value));
  };
  number("channels", layer.channels, plain.channels);
  number("kernel", layer.kernel, plain.kernel);
  number("kernel_height", layer.kernel_height, plain.kernel_height);
  number("stride", layer.stride, plain.stride);
  number("groups", layer.groups, plain.groups);
  number("dilation", layer.dilation, plain.dilation);
  number("bias", layer.bias, plain.bias);
  if (layer.kind == LayerKind::kActivation)
    settings.emplace_back("function", std::string(to_text(layer.activation)));
  number("rate", layer.rate, plain.rate);
  number("heads", layer.heads, plain.heads);
  number("key_heads", layer.key_heads, plain.key_heads);
  number("causal", layer.causal, plain.causal);
  number("rotary", layer.rotary, plain.rotary);
  number("scale", layer.scale, plain.scale);
  number("zero_point", layer.zero_point, plain.zero_point);
  return settings;
}

nlohmann::ordered_json layer_json(const Network& network, NodeId id) {
  const Node& node = network.nodes()[id];
  nlohmann::ordered_json layer = {{"name", node.name},
                                  {"op", to_text(node.layer.kind)},
                                  {"inputs", nlohmann::ordered_json::array()}};
  for (NodeId input : node.inputs) layer["inputs"].push_back(network.nodes()[input].name);
  for (const auto& [name, value] : settings_of(node.layer))
    layer[name] = name == "function" ? nlohmann::ordered_json(value)
                                     : json_or_discarded<nlohmann::ordered_json>(value);
  layer["shape"] = {node.shape.channels, node.shape.height, node.shape.width};
  return layer;
}

nlohmann::ordered_json architecture_json(const Network& network) {
  nlohmann::ordered_json layers = nlohmann::ordered_json::array();
  for (NodeId id = 0; id < network.nodes().size(); ++id) layers.push_back(layer_json(network, id));
  return layers;
}

}  // namespace detol::inline encoding
