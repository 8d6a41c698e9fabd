// Optuna's distributions as distribution_to_json writes them: {"lr": {"name": "FloatDistribution",
// "attributes": {"low": 0.0001, "high": 0.1, "log": true, "step": null}}, ...}, each as an object
// or as its text. Also the names that older versions wrote.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/table.h"
#include "encodings/foreign/distribution.h"
#include "encodings/foreign/formats.h"

namespace detol::inline encoding {
namespace {

// The first two say in their attributes whether they are of the logarithm.
constexpr std::array kOptunaNames = {
    Distribution{.name = "FloatDistribution"},
    Distribution{.name = "IntDistribution", .whole = true},
    Distribution{.name = "UniformDistribution"},
    Distribution{.name = "LogUniformDistribution", .log = true},
    Distribution{.name = "DiscreteUniformDistribution"},
    Distribution{.name = "IntUniformDistribution", .whole = true},
    Distribution{.name = "IntLogUniformDistribution", .log = true, .whole = true}};

bool has_attributes(const YamlNode& node) {
  return node.find("name") != nullptr && node.find("attributes") != nullptr;
}

// Returns the distribution of a text such as {"name": ...}; the node itself if it is no such text.
YamlNode distribution_in(const YamlNode& node) {
  if (node.kind != YamlNode::Kind::kScalar || !node.scalar.starts_with('{')) return node;
  return parse_yaml(node.scalar, YamlSource{}).value_or(node);
}

Result<ForeignParameter> optuna_parameter(const std::string& name, const YamlNode& node) {
  const auto mistake = [&name](const std::string& what) {
    return fail(ErrorCode::kInput, name + ": " + what);
  };
  if (!has_attributes(node)) return mistake("a distribution has the keys name and attributes");
  const std::string& word = node.find("name")->value.scalar;
  const YamlNode& attributes = node.find("attributes")->value;
  if (word == "CategoricalDistribution") {
    const YamlEntry* choices = attributes.find("choices");
    if (choices == nullptr) return mistake("its attributes lack the choices");
    return choice_of(name, choices->value.items);
  }
  const std::span<const Distribution> names = kOptunaNames;
  const Distribution* row = find_row(names, word);
  if (row == nullptr) {
    std::vector<std::string_view> known = names_of(names);
    known.emplace_back("CategoricalDistribution");
    return mistake(unknown_name("distribution", word, known));
  }
  Distribution distribution = *row;
  const YamlEntry* log = attributes.find("log");
  if (log != nullptr && log->value.scalar == "true") distribution.log = true;
  const YamlEntry* step = attributes.find(attributes.find("q") != nullptr ? "q" : "step");
  const bool has_step = step != nullptr && step->value.kind != YamlNode::Kind::kNull;
  DistributionNumbers numbers;
  for (const auto& [key, number] : {std::pair("low", &numbers.first), {"high", &numbers.second}}) {
    const auto found = number_at(attributes, key, std::nullopt);
    if (!found) return mistake(found.error().message);
    *number = *found;
  }
  if (has_step) numbers.step = number_of(step->value).value_or(-1);
  return parameter_of(distribution, name, numbers);
}

}  // namespace

bool is_optuna_space(const YamlNode& tree) {
  return std::ranges::any_of(tree.entries, [](const YamlEntry& entry) {
    return has_attributes(distribution_in(entry.value));
  });
}

Result<ForeignSpace> read_optuna_space(const YamlNode& tree, const YamlSource& source) {
  ForeignSpace space{.format = "distributions of Optuna"};
  for (const YamlEntry& entry : tree.entries) {
    Result<ForeignParameter> parameter = optuna_parameter(entry.key, distribution_in(entry.value));
    if (!parameter) return source.error(entry.at, parameter.error().message);
    space.parameters.push_back(std::move(*parameter));
  }
  return space;
}

}  // namespace detol::inline encoding
