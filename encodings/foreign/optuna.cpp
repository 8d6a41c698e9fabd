// Optuna's distributions as distribution_to_json writes them: {"lr": {"name": "FloatDistribution",
// "attributes": {"low": 0.0001, "high": 0.1, "log": true, "step": null}}, ...}, each as an object
// or as its text. Also the names that older versions wrote.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "core/json_text.h"
#include "core/table.h"
#include "encodings/foreign/distribution.h"
#include "encodings/foreign/formats.h"
#include "encodings/foreign/python_values.h"
#include "encodings/schema/yaml_value.h"

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
  YamlNode inner = parse_yaml(node.scalar, YamlSource{}).value_or(node);
  if (!is_json(node.scalar)) read_as_pyyaml(inner);
  return inner;
}

constexpr std::array<std::string_view, 2> kOptunaKeys = {"name", "attributes"};
constexpr std::array<std::string_view, 6> kOptunaAttributes = {"low",  "high", "log",
                                                               "step", "q",    "choices"};

// Returns whether the attributes say that the logarithm counts. Errors: neither true nor false.
Result<bool> log_in(const YamlNode& attributes) {
  const YamlEntry* log = attributes.find("log");
  if (log == nullptr || log->value.kind == YamlNode::Kind::kNull) return false;
  const Value value = plain_value(log->value);
  if (const auto* flag = std::get_if<bool>(&value)) return *flag;
  return fail(ErrorCode::kInput,
              fmt::format("log is {}; it must be true or false", in_quotes(log->value.scalar)));
}

// Returns the step of the grid; 0 for null, which Python writes None.
Result<double> step_in(const YamlNode& attributes) {
  const std::string_view key = attributes.find("q") != nullptr ? "q" : "step";
  const YamlEntry* step = attributes.find(key);
  const bool is_none = step == nullptr || step->value.kind == YamlNode::Kind::kNull ||
                       (!step->value.quoted && step->value.scalar == "None");
  return is_none ? Result<double>(0) : number_at(attributes, key, std::nullopt);
}

Result<ForeignParameter> optuna_parameter(const std::string& name, const YamlNode& node) {
  const auto mistake = [&name](const std::string& what) {
    return fail(ErrorCode::kInput, name + ": " + what);
  };
  if (!has_attributes(node)) return mistake("a distribution has the keys name and attributes");
  DETOL_TRY(has_known_keys(node, name, kOptunaKeys));
  DETOL_ASSIGN(const std::string word, text_at(node, "name"));
  const YamlNode& attributes = node.find("attributes")->value;
  DETOL_TRY(has_known_keys(attributes, name, kOptunaAttributes));
  if (word == "CategoricalDistribution") {
    const YamlEntry* choices = attributes.find("choices");
    if (choices == nullptr) return mistake("its attributes lack the choices");
    if (choices->value.kind != YamlNode::Kind::kList) return mistake("its choices must be a list");
    return choice_of(name, choices->value.items);
  }
  const std::span<const Distribution> names = kOptunaNames;
  const Distribution* row = find_row(names, word);
  if (row == nullptr) {
    std::vector<std::string_view> known = names_of(names);
    known.emplace_back("CategoricalDistribution");
    return mistake(unknown_name("distribution", word, known));
  }
  const auto placed = [&name](const Error& error) {
    return Error{error.code, name + ": " + error.message};
  };
  Distribution distribution = *row;
  DETOL_ASSIGN(const bool has_log, log_in(attributes).map_error(placed));
  distribution.log = distribution.log || has_log;
  DistributionNumbers numbers;
  DETOL_ASSIGN(numbers.first, number_at(attributes, "low", std::nullopt).map_error(placed));
  DETOL_ASSIGN(numbers.second, number_at(attributes, "high", std::nullopt).map_error(placed));
  DETOL_ASSIGN(numbers.step, step_in(attributes).map_error(placed));
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
