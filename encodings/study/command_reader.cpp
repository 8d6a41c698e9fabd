#include "encodings/study/command_reader.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <regex>

#include "encodings/study/json_values.h"

namespace detol::inline encoding {
namespace {

using nlohmann::json;

class CommandReader {
 public:
  CommandReader(const YamlNode& tree, const json& file, const YamlSource& source)
      : section_(file.at("command")), node_(tree.find("command")->value), source_(source) {
    for (const auto& [name, value] : section_of(file, "parameters").items()) names_.push_back(name);
    parameters_.assign(names_.begin(), names_.end());
  }

  Result<CommandConfig> read() {
    CommandConfig command{.run = {},
                          .resume = {},
                          .launch = {},
                          .folder = section_.value("folder", ""),
                          .steps = section_.value("steps", 0)};
    DETOL_ASSIGN(command.run, arguments("run"));
    if (command.run.empty())
      return source_.error(node_.find("run")->value.at, "command.run names no program");
    DETOL_ASSIGN(command.resume, arguments("resume"));
    if (node_.find("launch") != nullptr) {
      DETOL_ASSIGN(command.launch, arguments("launch"));
    }
    DETOL_ASSIGN(command.prints, printed_metrics());
    for (const auto& [name, value] : section_of(section_, "environment").items())
      command.environment[name] = value;
    if (section_.contains("success")) command.success = section_["success"].get<std::vector<int>>();
    const json& stop = section_of(section_, "stop");
    command.stop_signal = stop.value("signal", command.stop_signal);
    command.grace_s = stop.value("grace", command.grace_s);
    command.binds_cores = section_.value("bind", "cores") == "cores";
    return command;
  }

 private:
  // Returns the list of texts of a key, with checked placeholders; none if the key is not there.
  Result<std::vector<std::string>> arguments(std::string_view key) const {
    const YamlEntry* entry = node_.find(key);
    std::vector<std::string> texts;
    if (entry == nullptr) return texts;
    if (entry->value.kind != YamlNode::Kind::kList) return no_list(key, entry->value.at);
    for (const YamlNode& item : entry->value.items) {
      if (item.kind != YamlNode::Kind::kScalar) return no_list(key, item.at);
      if (const auto checked = check_placeholders(item.scalar, parameters_); !checked)
        return source_.error(item.at, fmt::format("command.{}: {}", key, checked.error().message));
      texts.push_back(item.scalar);
    }
    return texts;
  }

  tl::unexpected<Error> no_list(std::string_view key, const Position& at) const {
    return source_.error(
        at,
        fmt::format("command.{} must be a list of texts: [python, train.py, --lr, '{{lr}}']; no "
                    "shell reads it",
                    key));
  }

  Result<std::vector<PrintedMetric>> printed_metrics() const {
    std::vector<PrintedMetric> metrics;
    for (const auto& [metric, pattern] : section_of(section_, "prints").items()) {
      const YamlNode& written = node_.find("prints")->value.find(metric)->value;
      try {
        if (std::regex(pattern.get<std::string>()).mark_count() == 0)
          return source_.error(written.at,
                               fmt::format("command.prints.{}: the expression has no group; put "
                                           "brackets around the number",
                                           metric));
      } catch (const std::regex_error& error) {
        return source_.error(written.at, fmt::format("command.prints.{}: no regular expression: {}",
                                                     metric, error.what()));
      }
      metrics.push_back({metric, pattern});
    }
    return metrics;
  }

  const json& section_;
  const YamlNode& node_;
  const YamlSource& source_;
  std::vector<std::string> names_;
  std::vector<std::string_view> parameters_;
};

}  // namespace

Result<CommandConfig> read_command_config(const YamlNode& tree, const json& file,
                                          const YamlSource& source) {
  return CommandReader(tree, file, source).read();
}

}  // namespace detol::inline encoding
