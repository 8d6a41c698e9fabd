// A sweep of Weights & Biases: YAML with `program`, `command`, `method`, `metric`, `parameters`,
// `early_terminate` and `run_cap`. Parameters inside of a parameter get dotted names.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/table.h"
#include "encodings/foreign/distribution.h"
#include "encodings/foreign/formats.h"
#include "encodings/schema/schema_reader.h"

namespace detol::inline encoding {
namespace {

constexpr std::array kWandbDistributions = {
    Distribution{.name = "int_uniform", .whole = true},
    Distribution{.name = "uniform"},
    Distribution{.name = "q_uniform", .rounds = true},
    Distribution{.name = "log_uniform", .ends = Ends::kExponents, .log = true},
    Distribution{.name = "log_uniform_values", .log = true},
    Distribution{.name = "q_log_uniform", .ends = Ends::kExponents, .log = true, .rounds = true},
    Distribution{.name = "q_log_uniform_values", .log = true, .rounds = true},
    Distribution{.name = "inv_log_uniform", .ends = Ends::kNegatedExponents, .log = true},
    Distribution{.name = "inv_log_uniform_values", .log = true},
    Distribution{.name = "normal", .ends = Ends::kNormal},
    Distribution{.name = "q_normal", .ends = Ends::kNormal, .rounds = true},
    Distribution{.name = "log_normal", .ends = Ends::kNormal, .log = true},
    Distribution{.name = "q_log_normal", .ends = Ends::kNormal, .log = true, .rounds = true}};

// Method: a value of `method`, and what proposes trials like it.
struct Method {
  std::string_view name, algorithm, remark;
};
constexpr std::array kMethods = {
    Method{"random", "random", ""}, Method{"bayes", "gp", ""},
    Method{"grid", "sobol", "a grid has no equal; sobol tries every choice evenly"}};

constexpr double kDefaultEta = 3;

const YamlNode* value_at(const YamlNode& map, std::string_view key) {
  const YamlEntry* entry = map.find(key);
  return entry == nullptr ? nullptr : &entry->value;
}

// Returns the text of a key; empty if it is not there.
std::string text_at(const YamlNode& map, std::string_view key) {
  const YamlNode* node = value_at(map, key);
  return node == nullptr ? "" : node->scalar;
}

// Returns the word that holds where a parameter does not say its distribution.
std::string_view implied_distribution(const YamlNode& parameter) {
  const auto is_whole = [&](std::string_view key) {
    const YamlNode* node = value_at(parameter, key);
    return node != nullptr && node->kind == YamlNode::Kind::kScalar &&
           std::holds_alternative<std::int64_t>(plain_value(*node));
  };
  if (parameter.find("values") != nullptr) return "categorical";
  if (parameter.find("value") != nullptr) return "constant";
  return is_whole("min") && is_whole("max") ? "int_uniform" : "uniform";
}

Result<ForeignParameter> sweep_number(const Distribution& row, const std::string& name,
                                      const YamlNode& parameter) {
  const auto placed = [&name](const Error& error) {
    return Error{error.code, name + ": " + error.message};
  };
  const bool is_normal = row.ends == Ends::kNormal;
  const auto standard = [is_normal](double value) {
    return is_normal ? std::optional(value) : std::nullopt;
  };
  DistributionNumbers numbers;
  DETOL_ASSIGN(numbers.first,
               number_at(parameter, is_normal ? "mu" : "min", standard(0)).map_error(placed));
  DETOL_ASSIGN(numbers.second,
               number_at(parameter, is_normal ? "sigma" : "max", standard(1)).map_error(placed));
  if (row.rounds) {
    DETOL_ASSIGN(numbers.step, number_at(parameter, "q", 1).map_error(placed));
  }
  return parameter_of(row, name, numbers);
}

Result<ForeignParameter> sweep_parameter(const std::string& name, const YamlNode& parameter) {
  const std::string said = text_at(parameter, "distribution");
  const std::string_view word = said.empty() ? implied_distribution(parameter) : said;
  const auto mistake = [&name](const std::string& what) {
    return fail(ErrorCode::kInput, name + ": " + what);
  };
  if (word.starts_with("categorical")) {
    const YamlNode* values = value_at(parameter, "values");
    if (values == nullptr) return mistake("categorical needs values");
    Result<ForeignParameter> choice = choice_of(name, values->items);
    if (choice && parameter.find("probabilities") != nullptr)
      choice->remarks.emplace_back("its values are equally likely; the probabilities are left out");
    return choice;
  }
  if (word == "constant") {
    const YamlNode* value = value_at(parameter, "value");
    return value == nullptr ? mistake("constant needs a value")
                            : choice_of(name, std::span(value, 1));
  }
  const std::span<const Distribution> words = kWandbDistributions;
  const Distribution* row = find_row(words, word);
  if (row != nullptr) return sweep_number(*row, name, parameter);
  std::vector<std::string_view> known = names_of(words);
  known.insert(known.end(), {"categorical", "constant"});
  return mistake(unknown_name("distribution", word, known));
}

class SweepReader {
 public:
  SweepReader(const YamlNode& tree, const YamlSource& source) : tree_(tree), source_(source) {}

  Result<ForeignSpace> read() {
    space_.format = "a sweep of Weights & Biases";
    space_.study = text_at(tree_, "name");
    DETOL_TRY(read_parameters(tree_.find("parameters")->value, ""));
    DETOL_TRY(read_command());
    read_metric();
    DETOL_TRY(read_method());
    DETOL_TRY(read_early_termination());
    if (const YamlNode* cap = value_at(tree_, "run_cap")) space_.budget = cap->scalar + "trials";
    return std::move(space_);
  }

 private:
  Result<void> read_parameters(const YamlNode& parameters, const std::string& prefix) {
    for (const YamlEntry& entry : parameters.entries) {
      const std::string name = prefix + entry.key;
      if (entry.value.kind != YamlNode::Kind::kMap)
        return source_.error(entry.at, name + ": a parameter is a map, as in {value: 3}");
      if (const YamlNode* inner = value_at(entry.value, "parameters")) {
        DETOL_TRY(read_parameters(*inner, name + "."));
        continue;
      }
      Result<ForeignParameter> parameter = sweep_parameter(name, entry.value);
      if (!parameter) return source_.error(entry.at, parameter.error().message);
      space_.parameters.push_back(std::move(*parameter));
    }
    return {};
  }

  // Fills in the macros of the command; without one it is the interpreter, program and arguments.
  Result<void> read_command() {
    const std::string program = text_at(tree_, "program");
    const YamlNode* command = value_at(tree_, "command");
    if (command == nullptr) {
      if (program.empty()) return {};
      space_.run = {"python", program};
      add_arguments("--");
      return {};
    }
    for (const YamlNode& item : command->items) {
      std::string word = item.scalar;
      if (word == "${args}" || word == "${args_no_boolean_flags}") {
        add_arguments("--");
      } else if (word == "${args_no_hyphens}") {
        add_arguments("");
      } else {
        for (const auto& [macro, text] :
             {std::pair<std::string, std::string>("${env}", "/usr/bin/env"),
              {"${interpreter}", "python"},
              {"${program}", program}}) {
          if (const auto at = word.find(macro); at != std::string::npos)
            word.replace(at, macro.size(), text);
        }
        if (word.find("${") != std::string::npos)
          return source_.error(item.at,
                               fmt::format("command: {} has no equal; the program can read "
                                           "its parameters from $DETOL_PARAMS as JSON, and "
                                           "the environment as it is",
                                           in_quotes(word)));
        space_.run.push_back(word);
      }
      if (word == "${args_no_boolean_flags}")
        space_.remarks.emplace_back("a bool is given as --flag=true, not as --flag alone");
    }
    return {};
  }

  void add_arguments(std::string_view hyphens) {
    for (const ForeignParameter& parameter : space_.parameters)
      space_.run.push_back(fmt::format("{0}{1}={{{1}}}", hyphens, parameter.domain.name));
  }

  void read_metric() {
    const YamlNode* metric = value_at(tree_, "metric");
    if (metric == nullptr) return;
    space_.metric = text_at(*metric, "name");
    space_.maximizes = text_at(*metric, "goal") == "maximize";
    if (metric->find("target") != nullptr)
      space_.remarks.push_back(
          fmt::format("the target of the metric is for the command line: --target '{}{}={}'",
                      space_.metric, space_.maximizes ? ">" : "<", text_at(*metric, "target")));
  }

  Result<void> read_method() {
    const YamlNode* method = value_at(tree_, "method");
    if (method == nullptr) return {};
    const std::span<const Method> methods = kMethods;
    const Method* row = find_row(methods, method->scalar);
    if (row == nullptr)
      return source_.error(method->at, unknown_name("method", method->scalar, names_of(methods)));
    space_.algorithm = row->algorithm;
    if (!row->remark.empty()) space_.remarks.emplace_back(row->remark);
    return {};
  }

  // Hyperband by the iteration of its first bracket is asha, which needs no last step; by the last
  // one and the number of brackets s it begins at max_iter / eta^s.
  Result<void> read_early_termination() {
    const YamlEntry* entry = tree_.find("early_terminate");
    if (entry == nullptr) return {};
    const YamlNode& stop = entry->value;
    const auto placed = [&](const Error& error) {
      return source_.error(entry->at, "early_terminate: " + error.message).value();
    };
    const std::string type = text_at(stop, "type");
    if (type != "hyperband")
      return source_.error(
          entry->at, "early_terminate: " +
                         unknown_name("type", type, std::array{std::string_view("hyperband")}));
    DETOL_ASSIGN(const double eta, number_at(stop, "eta", kDefaultEta).map_error(placed));
    const bool has_end = stop.find("min_iter") == nullptr;
    DETOL_ASSIGN(
        double first,
        number_at(stop, has_end ? "max_iter" : "min_iter", std::nullopt).map_error(placed));
    if (has_end) {
      DETOL_ASSIGN(const double brackets, number_at(stop, "s", std::nullopt).map_error(placed));
      space_.steps = static_cast<int>(std::clamp(first, 1.0, 1e9));
      first = std::max(1.0, std::floor(first / std::pow(eta, brackets)));
    }
    space_.pruner = fmt::format("{{name: {}, min_resource: {}, reduction_factor: {}}}",
                                has_end ? "hyperband" : "asha", first, eta);
    space_.remarks.emplace_back(
        "early_terminate counted reports; the pruner counts the steps that they name, and goes on "
        "with paused trials later");
    return {};
  }

  const YamlNode& tree_;
  const YamlSource& source_;
  ForeignSpace space_;
};

}  // namespace

bool is_wandb_sweep(const YamlNode& tree) {
  const YamlNode* parameters = value_at(tree, "parameters");
  return parameters != nullptr && parameters->kind == YamlNode::Kind::kMap &&
         (tree.find("method") != nullptr || tree.find("program") != nullptr);
}

Result<ForeignSpace> read_wandb_sweep(const YamlNode& tree, const YamlSource& source) {
  return SweepReader(tree, source).read();
}

}  // namespace detol::inline encoding
