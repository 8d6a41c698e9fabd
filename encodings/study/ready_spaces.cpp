#include "encodings/study/ready_spaces.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "core/program.h"
#include "core/table.h"

namespace detol::inline encoding {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> places_of_spaces() {
  return {program_path().parent_path().parent_path() / "share/detol/configs", DETOL_CONFIGS};
}

}  // namespace

std::vector<std::string> space_names() {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const fs::path& place : places_of_spaces()) {
    for (const auto& entry : fs::directory_iterator(place, ignored)) {
      std::string stem = entry.path().stem().string();
      if (std::ranges::find(names, stem) == names.end()) names.push_back(std::move(stem));
    }
  }
  std::ranges::sort(names);
  return names;
}

std::string find_space(const std::string& name) {
  std::error_code ignored;
  if (fs::exists(name, ignored) || fs::path(name).is_absolute()) return name;
  const fs::path bare = name.starts_with("configs/") ? fs::path(name.substr(8)) : fs::path(name);
  for (const fs::path& place : places_of_spaces()) {
    for (const char* suffix : {"", ".yaml"}) {
      const fs::path candidate = place / (bare.string() + suffix);
      if (fs::is_regular_file(candidate, ignored)) return candidate.string();
    }
  }
  return name;
}

Result<std::string> existing_space(const std::string& name) {
  std::string path = find_space(name);
  std::error_code ignored;
  if (path != name || fs::exists(name, ignored) || name.find('/') != std::string::npos) return path;
  const std::vector<std::string> names = space_names();
  const std::vector<std::string_view> known(names.begin(), names.end());
  return fail(ErrorCode::kInput,
              fmt::format("cannot read {}: no such file, and {}", name,
                          unknown_name("space", fs::path(name).stem().string(), known)));
}

}  // namespace detol::inline encoding
