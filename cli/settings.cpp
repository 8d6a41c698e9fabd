#include "cli/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>

#include "core/table.h"
#include "core/utf8.h"
#include "scheduler/budget.h"
#include "scheduler/run/preflight.h"

namespace detol::inline cli {
namespace {

namespace fs = std::filesystem;

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

}  // namespace

std::span<const Setting> settings() {
  return kSettings;
}

Result<std::vector<Override>> set_overrides(const Arguments& arguments) {
  std::vector<Override> overrides;
  for (const std::string& word : arguments.all("set")) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0) {
      return fail(
          ErrorCode::kUsage,
          fmt::format("--set is '{}'; it must be key=value, as in training.epochs=3", word));
    }
    overrides.push_back({word.substr(0, equals), word.substr(equals + 1)});
  }
  return overrides;
}

Result<std::vector<Override>> overrides_from(const Arguments& arguments) {
  std::vector<Override> overrides;
  for (const Setting& setting : settings()) {
    if (const char* value = variable(setting)) overrides.push_back(override_of(setting, value));
  }
  const std::size_t first_set = overrides.size();
  DETOL_ASSIGN(const auto set, set_overrides(arguments));
  overrides.insert(overrides.end(), set.begin(), set.end());
  for (const Setting& setting : settings()) {
    const bool is_of_this_run = setting.flag == "workers" && arguments.text("workers") == "0";
    std::string text = arguments.text(setting.flag);
    // More for a study that is there (search_setup.cpp); for one that is not, its total.
    const bool may_add = setting.flag == "budget" && arguments.text("if-exists") == "resume";
    if (may_add && adds_to_budget(text)) text = limits_of(text);
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
  const auto setting = std::ranges::find(settings(), error.subject, &Setting::path);
  if (setting == settings().end()) return error;
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
  return fail(ErrorCode::kUsage,
              fmt::format("{}: {} is not UTF-8; choose another path", option, in_quotes(path)));
}

}  // namespace detol::inline cli
