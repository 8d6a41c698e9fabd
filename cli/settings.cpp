#include "cli/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>

#include "core/table.h"
#include "core/utf8.h"
#include "encodings/foreign/tuned_space.h"
#include "scheduler/budget.h"
#include "scheduler/run/preflight.h"

namespace detol::inline cli {
namespace {

namespace fs = std::filesystem;

struct Setting {
  std::string_view flag;      // key of the command's option: "algorithm"
  std::string_view variable;  // DETOL_ALGORITHM
  std::string_view path;      // search.algorithm
  bool is_text = false;       // never parsed as YAML: a folder called `a: b`, a study called 7
};

constexpr std::array<Setting, 8> kSettings = {{
    {"study", "DETOL_STUDY", "study", true},
    {"seed", "DETOL_SEED", "seed"},
    {"budget", "DETOL_BUDGET", "budget"},
    {"algorithm", "DETOL_ALGORITHM", "search.algorithm"},
    {"pruner", "DETOL_PRUNER", "search.pruner"},
    {"data", "DETOL_DATA", "data.path", true},
    // Stored in the study, so that a resume has as many workers and groups of the same size.
    {"workers", "DETOL_WORKERS", "resources.workers"},
    {"group-size", "DETOL_GROUP_SIZE", "resources.group_size"},
}};

const char* variable(const Setting& setting) {
  const char* value = std::getenv(setting.variable.data());  // NOLINT(concurrency-mt-unsafe)
  return value != nullptr && *value != '\0' ? value : nullptr;
}

// Returns the setting as an override. Its value is YAML, so text is quoted.
Override override_of(const Setting& setting, const std::string& value) {
  if (!setting.is_text) return {std::string(setting.path), value};
  std::string quoted = "'";
  for (const char c : value) quoted += c == '\'' ? "''" : std::string(1, c);
  return {std::string(setting.path), quoted + "'"};
}

// Inserts a flag after the overrides that it replaces, but before a --set of a key inside its
// value: `--pruner curve` names a pruner, `--set search.pruner.startup=4` sets an option of it.
void insert(std::vector<Override>& overrides, Override by_flag, std::size_t first_set) {
  std::size_t at = overrides.size();
  for (std::size_t i = overrides.size(); i-- > first_set;) {
    if (overrides[i].path == by_flag.path) break;
    if (overrides[i].path.starts_with(by_flag.path + ".")) at = i;
  }
  overrides.insert(overrides.begin() + static_cast<std::ptrdiff_t>(at), std::move(by_flag));
}

constexpr std::string_view kFlags = "the command line";  // the source of the space

// Leaves out the place in the text that was made of the flags.
Error of_flags(Error error) {
  const std::size_t end = error.message.find(": ");
  if (!error.message.starts_with(kFlags) || end == std::string::npos) return error;
  return {ErrorCode::kUsage, error.message.substr(end + 2)};
}

// Checks words of the command line, before they are taken for the text of a file.
Result<void> check_utf8(std::string_view what, const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (!is_utf8(word))
      return usage_error("{}: {} is not UTF-8; choose another", what, in_quotes(word));
  }
  return {};
}

}  // namespace

Result<std::vector<Override>> set_overrides(const Arguments& arguments) {
  std::vector<Override> overrides;
  for (const std::string& word : arguments.all("set")) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0) {
      return usage_error("--set is '{}'; it must be key=value, as in training.epochs=3", word);
    }
    overrides.push_back({word.substr(0, equals), word.substr(equals + 1)});
  }
  return overrides;
}

Result<std::vector<Override>> overrides_from(const Arguments& arguments) {
  std::vector<Override> overrides;
  for (const Setting& setting : kSettings) {
    if (const char* value = variable(setting)) overrides.push_back(override_of(setting, value));
  }
  const std::size_t first_set = overrides.size();
  DETOL_ASSIGN(const auto set, set_overrides(arguments));
  overrides.insert(overrides.end(), set.begin(), set.end());
  for (const Setting& setting : kSettings) {
    const bool is_of_this_run = setting.flag == "workers" && arguments.text("workers") == "0";
    std::string text = arguments.text(setting.flag);
    // More for a study that is there (search_setup.cpp); for one that is not, its total.
    if (setting.flag == "budget" && arguments.text("if-exists") == "resume") {
      const auto change = parse_budget_change(text);  // a wrong one is refused with the others
      if (change && *change && (*change)->adds) text = to_text((*change)->limits);
    }
    if (arguments.has(setting.flag) && !is_of_this_run)
      insert(overrides, override_of(setting, text), first_set);
  }
  return overrides;
}

Result<StudyConfig> read_space(const Arguments& arguments) {
  DETOL_ASSIGN(auto overrides, overrides_from(arguments));
  DETOL_ASSIGN(const std::string path, existing_space(arguments.text("space")));
  DETOL_ASSIGN(StudyConfig config, read_study_config(path, overrides));
  // A mistake in the file's own budget is one even where a flag replaces that.
  const auto is_budget = [](const Override& one) { return one.path == "budget"; };
  if (std::erase_if(overrides, is_budget) > 0) {
    DETOL_ASSIGN(const StudyConfig own, read_study_config(path, overrides));
    DETOL_TRY(check_budget(own));
  }
  return config;
}

Error as_written(Error error, const Arguments& arguments) {
  const std::string_view written = error.message;
  const std::string set = fmt::format("--set {}: ", error.subject);
  if (error.subject.empty() || !written.starts_with(set)) return error;
  const auto setting = std::ranges::find(kSettings, error.subject, &Setting::path);
  if (setting == std::end(kSettings)) return error;
  const std::string_view what = written.substr(set.size());
  if (arguments.has(setting->flag)) {
    error.message = fmt::format("--{}: {}", setting->flag, what);
  } else if (variable(*setting) != nullptr) {
    error.message = fmt::format("{}: {}", setting->variable, what);
  }
  return error;
}

Result<void> check_path(std::string_view option, const std::string& path) {
  if (is_utf8(path)) return {};
  return usage_error("{}: {} is not UTF-8; choose another path", option, in_quotes(path));
}

std::vector<Option> with_space_options(std::vector<Option> own) {
  const std::vector<Option> shared = {
      {"--space", "FILE", "a space file instead of the next three; default: a space of those"},
      {"--param", "NAME=RANGE", "such as lr=log(1e-5,1e-1), n=int(1,8), opt=choice(sgd,adam)",
       Option::kRepeated},
      {"--metric", "NAME:minimize", "what is reported; or NAME:maximize", Option::kRepeated},
      {"--steps", "N", "the steps of a whole trial, as they are reported; default: to its end"},
  };
  own.insert(own.end(), shared.begin(), shared.end());
  return own;
}

bool has_space(const Arguments& arguments) {
  return arguments.has("space") || arguments.has("param") || arguments.has("metric");
}

Result<StudyConfig> config_from_flags(const Arguments& arguments,
                                      const std::vector<std::string>& command,
                                      const std::string& name) {
  if (arguments.has("space")) {
    if (!command.empty() || arguments.has("param") || arguments.has("metric"))
      return usage_error(
          "--space has the command, its parameters and its metrics; leave out what is said twice, "
          "or --space");
    return read_space(arguments);
  }
  for (const char* needed : {"param", "metric"}) {
    if (!arguments.has(needed))
      return usage_error("--{} is missing; or name a space file with --space", needed);
  }
  DETOL_TRY(check_utf8("--param", arguments.all("param")));
  DETOL_TRY(check_utf8("--metric", arguments.all("metric")));
  DETOL_TRY(check_utf8("the command", command));
  DETOL_TRY(check_utf8("the study", {name}));
  DETOL_ASSIGN(const std::string space, space_of({.study = name,
                                                  .command = command,
                                                  .parameters = arguments.all("param"),
                                                  .metrics = arguments.all("metric"),
                                                  .steps = arguments.text("steps")}));
  DETOL_ASSIGN(const auto overrides, overrides_from(arguments));
  return read_study_text(space, kFlags, overrides).map_error(of_flags);
}

}  // namespace detol::inline cli
