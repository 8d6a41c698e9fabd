#include "encodings/study/written_parameters.h"

#include "encodings/schema/yaml_tree.h"

namespace detol::inline encoding {
namespace {

// Returns the scalar that stands for a value in the file; nullptr where a range does.
const YamlNode* scalar_for(const StudyConfig& config, const Genome& genome, const YamlNode& tree,
                           std::string_view name) {
  const YamlNode* node = node_at(tree, {"parameters", name});
  if (node == nullptr || node->kind == YamlNode::Kind::kScalar) return node;
  const YamlEntry* choices = node->find("choices");
  const auto index = config.space.index_of(name);
  if (choices == nullptr || !index) return nullptr;
  const auto code = static_cast<std::size_t>(genome.codes()[*index]);
  return code < choices->value.items.size() ? &choices->value.items[code] : nullptr;
}

}  // namespace

std::map<std::string, std::string, std::less<>> written_parameters(const StudyConfig& config,
                                                                   const Genome& genome) {
  const YamlNode tree = parse_yaml(config.text, {}).value_or(YamlNode{});
  std::map<std::string, std::string, std::less<>> words;
  for (const auto& [name, value] : config.parameters(genome)) {
    const YamlNode* scalar = scalar_for(config, genome, tree, name);
    words[name] = scalar == nullptr ? to_text(value) : scalar->scalar;
  }
  return words;
}

}  // namespace detol::inline encoding
