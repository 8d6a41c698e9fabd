// A sweep of Weights & Biases: YAML with `program`, `command`, `method`, `metric`, `parameters`,
// `early_terminate` and `run_cap`. Parameters inside of a parameter get dotted names.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/table.h"
#include "encodings/foreign/distribution.h"
#include "encodings/foreign/formats.h"
#include "encodings/schema/yaml_value.h"

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

constexpr std::array<std::string_view, 10> kParameterKeys = {
    "distribution", "min",    "max",           "mu",        "sigma", "q",
    "value",        "values", "probabilities", "parameters"};
constexpr std::array<std::string_view, 4> kMetricKeys = {"name", "goal", "target", "impute"};
constexpr std::array<std::string_view, 2> kGoals = {"minimize", "maximize"};
constexpr std::array<std::string_view, 6> kStopKeys = {"type", "min_iter", "max_iter",
                                                       "s",    "eta",      "strict"};

// The keys of a sweep that mean something here, and those that only Weights & Biases needs.
constexpr std::array<std::string_view, 8> kSweepKeys = {
    "name", "program", "command", "method", "metric", "parameters", "early_terminate", "run_cap"};
constexpr std::array<std::string_view, 10> kLeftOutKeys = {
    "version", "description", "project",  "entity",   "controller",
    "job",     "image_uri",   "resource", "settings", "tags"};

constexpr double kDefaultEta = 3;
constexpr double kMostRuns = 1e9;

const YamlNode* value_at(const YamlNode& map, std::string_view key) {
  const YamlEntry* entry = map.find(key);
  return entry == nullptr ? nullptr : &entry->value;
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
  const auto mistake = [&name](const std::string& what) {
    return fail(ErrorCode::kInput, name + ": " + what);
  };
  DETOL_TRY(has_known_keys(parameter, name, kParameterKeys));
  const auto said = text_at(parameter, "distribution");
  if (!said) return mistake(said.error().message);
  const std::string_view word = said->empty() ? implied_distribution(parameter) : *said;
  if (word == "categorical" || word == "categorical_w_probabilities") {
    const YamlNode* values = value_at(parameter, "values");
    if (values == nullptr || values->kind != YamlNode::Kind::kList)
      return mistake("categorical needs values, which is a list");
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

// Files have maximum, max and Maximize, too.
std::string unknown_goal(const std::string& word) {
  const auto begins_like = [&word](std::string_view goal) {
    return same_but_for_case(std::string_view(word).substr(0, 3), goal.substr(0, 3));
  };
  const auto meant = std::ranges::find_if(kGoals, begins_like);
  if (meant == kGoals.end()) return unknown_name("goal", word, kGoals);
  return fmt::format("unknown goal {}; did you mean '{}'? known: {}", in_quotes(word), *meant,
                     join(kGoals));
}

class SweepReader {
 public:
  SweepReader(const YamlNode& tree, const YamlSource& source) : tree_(tree), source_(source) {}

  Result<ForeignSpace> read() {
    space_.format = "a sweep of Weights & Biases";
    DETOL_TRY(look_at_keys());
    DETOL_ASSIGN(space_.study, word_at("name"));
    DETOL_TRY(read_parameters(tree_.find("parameters")->value, ""));
    DETOL_TRY(read_command());
    DETOL_TRY(read_metric());
    DETOL_TRY(read_method());
    DETOL_TRY(read_early_termination());
    DETOL_TRY(read_run_cap());
    return std::move(space_);
  }

 private:
  // A key that nobody knows may be a misspelt one that matters; else it is left out, and said.
  Result<void> look_at_keys() {
    for (const YamlEntry& entry : tree_.entries) {
      const bool is_known = std::ranges::find(kSweepKeys, entry.key) != kSweepKeys.end() ||
                            std::ranges::find(kLeftOutKeys, entry.key) != kLeftOutKeys.end();
      if (is_known) continue;
      if (did_you_mean(entry.key, kSweepKeys))
        return source_.error(entry.at, unknown_name("key", entry.key, kSweepKeys));
      space_.remarks.push_back(fmt::format("the key {} is left out", in_quotes(entry.key)));
    }
    return {};
  }

  // Returns the text of a key of the sweep; empty if it is not there.
  Result<std::string> word_at(std::string_view key) const {
    auto text = text_at(tree_, key);
    if (!text) return source_.error(tree_.find(key)->at, text.error().message);
    return text;
  }

  Result<void> read_run_cap() {
    const YamlNode* cap = value_at(tree_, "run_cap");
    if (cap == nullptr) return {};
    const auto runs = number_of(*cap);
    if (!runs || !(*runs >= 1 && *runs <= kMostRuns) || *runs != std::floor(*runs))
      return source_.error(cap->at, fmt::format("run_cap is {}; it must be a whole number of runs",
                                                in_quotes(cap->scalar)));
    space_.budget = fmt::format("{}trials", static_cast<std::int64_t>(*runs));
    return {};
  }

  Result<void> read_parameters(const YamlNode& parameters, const std::string& prefix) {
    for (const YamlEntry& entry : parameters.entries) {
      const std::string name = prefix + entry.key;
      if (entry.value.kind != YamlNode::Kind::kMap)
        return source_.error(entry.at, name + ": a parameter is a map, as in {value: 3}");
      if (const YamlNode* inner = value_at(entry.value, "parameters")) {
        if (inner->kind != YamlNode::Kind::kMap || entry.value.entries.size() > 1)
          return source_.error(entry.at, name + ": parameters is a map of them, and stands alone");
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
    DETOL_ASSIGN(const std::string program, word_at("program"));
    const YamlNode* command = value_at(tree_, "command");
    if (command == nullptr) {
      if (program.empty()) return {};
      space_.run = {"python3", program};
      add_arguments("--");
      return {};
    }
    if (command->kind != YamlNode::Kind::kList)
      return source_.error(command->at, "command must be a list of words");
    for (const YamlNode& item : command->items) {
      if (item.kind != YamlNode::Kind::kScalar)
        return source_.error(item.at, "command must be a list of words");
      std::string word = item.scalar;
      if (word == "${args}" || word == "${args_no_boolean_flags}") {
        add_arguments("--");
      } else if (word == "${args_no_hyphens}") {
        add_arguments("");
      } else {
        for (const auto& [macro, text] :
             {std::pair<std::string, std::string>("${env}", "/usr/bin/env"),
              {"${interpreter}", "python3"},
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

  Result<void> read_metric() {
    const YamlEntry* entry = tree_.find("metric");
    if (entry == nullptr) return {};
    const YamlNode& metric = entry->value;
    const auto placed = [&](const Error& error) {
      return source_.error(entry->at, "metric: " + error.message).value();
    };
    if (metric.kind != YamlNode::Kind::kMap)
      return source_.error(metric.at, "metric must be a map, as in {name: loss, goal: minimize}");
    if (const auto known = has_known_keys(metric, "metric", kMetricKeys); !known)
      return source_.error(entry->at, known.error().message);
    DETOL_ASSIGN(space_.metric, text_at(metric, "name").map_error(placed));
    if (space_.metric.empty()) return source_.error(entry->at, "metric: it needs a name");
    if (const YamlNode* goal = value_at(metric, "goal")) {
      if (std::ranges::find(kGoals, goal->scalar) == kGoals.end())
        return source_.error(goal->at, "metric: " + unknown_goal(goal->scalar));
      space_.maximizes = goal->scalar == "maximize";
    } else {
      space_.remarks.emplace_back("the metric has no goal; without one it is minimized");
    }
    DETOL_ASSIGN(const std::string target, text_at(metric, "target").map_error(placed));
    if (!target.empty())
      space_.remarks.push_back(
          fmt::format("the target of the metric is for the command line: --target '{}{}={}'",
                      space_.metric, space_.maximizes ? ">" : "<", target));
    if (metric.find("impute") != nullptr)
      space_.remarks.emplace_back("impute is left out: a trial that fails has no value");
    return {};
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
    if (stop.kind != YamlNode::Kind::kMap)
      return source_.error(stop.at, "early_terminate must be a map, as in {type: hyperband, ...}");
    if (const auto known = has_known_keys(stop, "early_terminate", kStopKeys); !known)
      return source_.error(entry->at, known.error().message);
    DETOL_ASSIGN(const std::string type, text_at(stop, "type").map_error(placed));
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
    if (stop.find("strict") != nullptr)
      space_.remarks.emplace_back("early_terminate: strict has no equal and is left out");
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
