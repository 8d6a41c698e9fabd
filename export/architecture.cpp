#include "export/architecture.h"

#include <fmt/format.h>

#include <array>
#include <map>

#include "core/json_text.h"
#include "core/table.h"
#include "export/architecture_text.h"

namespace detol::inline exporting {
namespace {

using nlohmann::json;

constexpr double kMostNumbers = 1u << 28;

tl::unexpected<Error> broken(std::string_view layer, const std::string& what) {
  return fail(ErrorCode::kInput, fmt::format("layer {}: {}", in_quotes(layer), what));
}

Result<void> check_numbers(double numbers) {
  if (numbers <= kMostNumbers) return {};
  return fail(ErrorCode::kInput,
              fmt::format("the network holds {:.3g} numbers an image; at most {:.3g} can be run",
                          numbers, kMostNumbers));
}

double numbers_in(const Shape& shape) {
  return static_cast<double>(shape.channels) * static_cast<double>(shape.height) *
         static_cast<double>(shape.width);
}

// Reads a shape, a JSON list of three positive integers.
Result<Shape> shape_from(const json& layer, const std::string& name) {
  const auto found = layer.find("shape");
  if (found == layer.end() || !found->is_array() || found->size() != 3)
    return broken(name, "its shape is not [channels, height, width]");
  for (const json& extent : *found) {
    if (!extent.is_number_integer() || extent.get<std::int64_t>() < 1)
      return broken(name, "its shape has an extent that is no positive integer");
  }
  return Shape{found->at(0), found->at(1), found->at(2)};
}

Result<std::string> text_at(const json& layer, const char* key, std::string_view name) {
  const auto found = layer.find(key);
  if (found == layer.end() || !found->is_string())
    return broken(name, fmt::format("its '{}' is no text", key));
  return found->get<std::string>();
}

Result<LayerKind> kind_called(const std::string& op, const std::string& name) {
  for (const LayerRow& row : layer_rows()) {
    if (row.name == op) return row.kind;
  }
  return broken(name, fmt::format("detol has no layer {}", in_quotes(op)));
}

Result<Activation> function_called(const std::string& word, const std::string& name) {
  for (const ActivationRow& row : kActivations) {
    if (row.name == word) return row.function;
  }
  return broken(name, fmt::format("detol has no activation {}", in_quotes(word)));
}

struct IntegerField {
  const char* name;
  std::int64_t Layer::*member;
};
constexpr std::array kIntegers = {IntegerField{"zero_point", &Layer::zero_point},
                                  IntegerField{"channels", &Layer::channels},
                                  IntegerField{"kernel", &Layer::kernel},
                                  IntegerField{"kernel_height", &Layer::kernel_height},
                                  IntegerField{"stride", &Layer::stride},
                                  IntegerField{"groups", &Layer::groups},
                                  IntegerField{"dilation", &Layer::dilation},
                                  IntegerField{"heads", &Layer::heads},
                                  IntegerField{"key_heads", &Layer::key_heads}};

struct SwitchField {
  const char* name;
  bool Layer::*member;
};
constexpr std::array kSwitches = {SwitchField{"bias", &Layer::bias},
                                  SwitchField{"causal", &Layer::causal},
                                  SwitchField{"rotary", &Layer::rotary}};

Result<Layer> layer_from(const json& described, const std::string& name) {
  Layer layer;
  DETOL_ASSIGN(const std::string op, text_at(described, "op", name));
  DETOL_ASSIGN(layer.kind, kind_called(op, name));
  for (const IntegerField& field : kIntegers) {
    const auto found = described.find(field.name);
    if (found == described.end()) continue;
    if (!found->is_number_integer())
      return broken(name, fmt::format("its '{}' is no integer", field.name));
    layer.*field.member = found->get<std::int64_t>();
  }
  for (const SwitchField& field : kSwitches) {
    const auto found = described.find(field.name);
    if (found == described.end()) continue;
    if (!found->is_boolean())
      return broken(name, fmt::format("its '{}' is neither true nor false", field.name));
    layer.*field.member = found->get<bool>();
  }
  if (const auto rate = described.find("rate"); rate != described.end()) {
    if (!rate->is_number()) return broken(name, "its 'rate' is no number");
    layer.rate = rate->get<double>();
  }
  if (const auto scale = described.find("scale"); scale != described.end()) {
    if (!scale->is_number()) return broken(name, "its 'scale' is no number");
    layer.scale = scale->get<float>();
  }
  if (layer.kind != LayerKind::kActivation) return layer;
  DETOL_ASSIGN(const std::string function, text_at(described, "function", name));
  DETOL_ASSIGN(layer.activation, function_called(function, name));
  return layer;
}

// Reader builds the network layer by layer from the list.
class Reader {
 public:
  explicit Reader(const Shape& input) : builder_(input) { ids_["input"] = builder_.input(); }

  Result<void> add(const json& described) {
    DETOL_ASSIGN(const std::string name, text_at(described, "name", "?"));
    if (ids_.contains(name)) return broken(name, "another layer has this name");
    DETOL_ASSIGN(const Layer layer, layer_from(described, name));
    DETOL_ASSIGN(std::vector<NodeId> inputs, inputs_of(described, name));
    DETOL_ASSIGN(const Shape shape, shape_from(described, name));
    last_ = builder_.add(layer, std::move(inputs), name);
    if (builder_.shape(last_) != shape) {
      DETOL_TRY(builder_.build(last_));  // its error is clearer, if a rule was broken
      return broken(name, fmt::format("its shape is not {}", to_text(shape)));
    }
    ids_.emplace(name, last_);
    return {};
  }

  Result<Network> build() const { return builder_.build(last_); }

 private:
  Result<std::vector<NodeId>> inputs_of(const json& described, const std::string& name) const {
    const auto found = described.find("inputs");
    if (found == described.end() || !found->is_array())
      return broken(name, "its 'inputs' are no list");
    std::vector<NodeId> inputs;
    for (const json& input : *found) {
      const auto known = input.is_string() ? ids_.find(input.get<std::string>()) : ids_.end();
      if (known == ids_.end()) return broken(name, "it reads a layer that is not before it");
      inputs.push_back(known->second);
    }
    return inputs;
  }

  NetworkBuilder builder_;
  std::map<std::string, NodeId> ids_;
  NodeId last_ = 0;
};

}  // namespace

Result<Network> network_from(const json& architecture) {
  if (!architecture.is_array() || architecture.empty())
    return fail(ErrorCode::kInput, "its architecture is no list of layers");
  const json& first = architecture.front();
  DETOL_ASSIGN(const std::string op, text_at(first, "op", "input"));
  if (op != "input") return broken("input", "the list does not start with it");
  DETOL_ASSIGN(const Shape input, shape_from(first, "input"));
  DETOL_TRY(check_size(input));
  Reader reader(input);
  for (std::size_t i = 1; i < architecture.size(); ++i) DETOL_TRY(reader.add(architecture[i]));
  DETOL_ASSIGN(Network network, reader.build());
  DETOL_TRY(check_size(network));
  return network;
}

std::string architecture_text(const Network& network) {
  return compact(architecture_json(network));
}

Result<Network> network_from_text(std::string_view text) {
  return network_from(json_or_discarded(text));
}

Result<void> check_size(const Shape& shape) {
  return check_numbers(numbers_in(shape));
}

Result<void> check_size(const Network& network) {
  double numbers = 0;
  for (const Node& node : network.nodes()) numbers += numbers_in(node.shape);
  return check_numbers(numbers);
}

}  // namespace detol::inline exporting
