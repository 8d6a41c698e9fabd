#include "encodings/study/command_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <regex>

#include "core/table.h"
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
    if (file.contains("architecture"))
      parameters_.insert(parameters_.end(), kNetworkFiles.begin(), kNetworkFiles.end());
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

// TaskReader reads what stands beside an architecture whose networks detol does not train.
class TaskReader {
 public:
  TaskReader(const YamlNode& tree, const json& file, std::string_view name,
             const YamlSource& source)
      : section_(file.at(name)),
        entry_(*tree.find(name)),
        name_(name),
        memory_(node_at(tree, {"architecture", "constraints", "max_memory"})),
        has_architecture_(file.contains("architecture")),
        source_(source) {}

  Result<std::optional<Task>> read() const {
    for (const char* key : {"input", "outputs", "task"}) {
      if (!has_architecture_ && entry_.value.find(key) != nullptr)
        return error(key, "it says what networks are made for, and there is no 'architecture'");
    }
    if (!has_architecture_) return std::optional<Task>();
    if (memory_ != nullptr)
      return source_.error(memory_->at,
                           "architecture.constraints.max_memory: it is foreseen of trainings of "
                           "detol alone; max_params and max_flops hold here, too");
    Task task;
    task.kind = find_row(tasks(), section_.value("task", "classification"))->kind;
    DETOL_ASSIGN(task.input, input());
    const bool is_binary = task.kind == TaskKind::kBinary;
    if (!is_binary && !section_.contains("outputs"))
      return error("outputs", "an architecture needs it: the number of classes, labels or targets");
    task.classes = section_.value("outputs", 1);
    if (is_binary && task.classes != 1) return error("outputs", "task binary has a single one");
    return std::optional(task);
  }

 private:
  tl::unexpected<Error> error(std::string_view key, std::string_view what) const {
    const YamlEntry* entry = entry_.value.find(key);
    return source_.error(entry == nullptr ? entry_.at : entry->value.at,
                         fmt::format("{}.{}: {}", name_, key, what));
  }

  // Reads [features], [channels, length] or [channels, height, width].
  Result<Shape> input() const {
    const YamlEntry* entry = entry_.value.find("input");
    std::vector<std::int64_t> extents;
    if (entry != nullptr) {
      for (const YamlNode& item : entry->value.items) extents.push_back(extent(item));
    }
    const auto is_wrong = [](std::int64_t n) { return n < 1 || n > kMostExtent; };
    if (extents.empty() || extents.size() > 3 || std::ranges::any_of(extents, is_wrong))
      return error("input", fmt::format("an architecture needs it: [channels, height, width] of an "
                                        "image, [channels, length] of a sequence or [numbers] of a "
                                        "vector, each from 1 to {}",
                                        kMostExtent));
    Shape shape{.channels = extents.front()};
    if (extents.size() > 1) shape.width = extents.back();
    if (extents.size() == 3) shape.height = extents[1];
    return shape;
  }

  // Returns the whole number of a scalar, 0 if it is none.
  static std::int64_t extent(const YamlNode& node) {
    std::int64_t number = 0;
    const char* end = node.scalar.data() + node.scalar.size();
    const auto [stop, failure] = std::from_chars(node.scalar.data(), end, number);
    return failure == std::errc() && stop == end ? number : 0;
  }

  const json& section_;
  const YamlEntry& entry_;
  const std::string_view name_;
  const YamlNode* memory_;
  const bool has_architecture_;
  const YamlSource& source_;
};

}  // namespace

Result<CommandConfig> read_command_config(const YamlNode& tree, const json& file,
                                          const YamlSource& source) {
  return CommandReader(tree, file, source).read();
}

Result<std::optional<Task>> read_network_task(const YamlNode& tree, const json& file,
                                              std::string_view name, const YamlSource& source) {
  return TaskReader(tree, file, name, source).read();
}

}  // namespace detol::inline encoding
