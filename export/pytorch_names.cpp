#include "export/pytorch_names.h"

#include <algorithm>
#include <set>
#include <string_view>

namespace detol::inline exporting {
namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_letter_or_digit(char c) {
  return is_letter(c) || (c >= '0' && c <= '9');
}

std::string attribute_name(std::string name) {
  std::ranges::replace_if(
      name, [](char c) { return !is_letter_or_digit(c); }, '_');
  if (name.empty() || !is_letter(name.front())) name = "layer_" + name;
  // A word of letters may be one of Python's, of nn.Module's or a variable of forward().
  if (std::ranges::all_of(name, is_letter)) name += '_';
  return name;
}

std::string torch_name(std::string_view tensor) {
  if (tensor == "gamma") return "weight";
  if (tensor == "beta") return "bias";
  return std::string(tensor);
}

}  // namespace

std::vector<std::string> attribute_names(const Network& network) {
  std::vector<std::string> names;
  std::set<std::string> taken;
  for (const Node& node : network.nodes()) {
    std::string name = attribute_name(node.name);
    while (!taken.insert(name).second) name += '_';
    names.push_back(std::move(name));
  }
  return names;
}

std::vector<TorchTensor> state_dict_of(const Model& model) {
  std::vector<std::int64_t> per_channel{model.network.input_shape().channels};
  if (!reads_vectors(model.network)) per_channel.insert(per_channel.end(), 2, 1);
  std::vector<TorchTensor> tensors{{"mean", per_channel, model.mean},
                                   {"deviation", per_channel, model.deviation}};
  const std::vector<std::string> names = attribute_names(model.network);
  const std::vector<NetworkParameter> parameters = model.network.parameters();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const NetworkParameter& parameter = parameters[i];
    tensors.push_back({names[parameter.node] + "." + torch_name(parameter.spec.name),
                       parameter.spec.shape, model.weights[i].data});
  }
  return tensors;
}

bool reads_vectors(const Network& network) {
  return network.input_shape().height * network.input_shape().width == 1;
}

}  // namespace detol::inline exporting
