#include "encodings/study/study_paths.h"

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "core/home.h"
#include "core/table.h"
#include "core/utf8.h"

namespace detol::inline encoding {
namespace {

// Resolves a relative path against the current folder if it exists there, else against `folder`.
// One that is nowhere is of the current folder if the command line has it.
std::string absolute_data_path(const YamlNode& path, const std::filesystem::path& folder) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const fs::path here = fs::absolute(path.scalar, ignored);
  if (fs::exists(here, ignored)) return here.lexically_normal().string();
  const fs::path below = fs::absolute(folder / at_home(path.scalar), ignored);
  const bool is_of_here = path.at.override_index >= 0 && !fs::exists(below, ignored);
  const fs::path found = is_of_here ? fs::absolute(at_home(path.scalar), ignored) : below;
  return found.lexically_normal().string();
}

Result<void> set_path(YamlNode& node, std::string path) {
  if (!is_utf8(path))
    return fail(
        ErrorCode::kInput,
        fmt::format("the path {} is not UTF-8, which a study must be; rename the folder, or "
                    "put what is in it elsewhere",
                    in_quotes(path)));
  node.scalar = std::move(path);
  return {};
}

Result<void> set_folder_of_command(YamlNode& tree) {
  YamlEntry* command = tree.find("command");
  if (command == nullptr || command->value.kind != YamlNode::Kind::kMap) return {};
  YamlEntry* folder = command->value.find("folder");
  if (folder == nullptr) {
    YamlNode here = YamlNode::of(YamlNode::Kind::kScalar, command->at);
    here.scalar = ".";
    here.quoted = true;
    command->value.entries.push_back({"folder", command->at, std::move(here)});
    folder = &command->value.entries.back();
  }
  if (folder->value.kind != YamlNode::Kind::kScalar) return {};
  std::error_code ignored;
  const auto path = std::filesystem::absolute(folder->value.scalar, ignored);
  return ignored ? Result<void>() : set_path(folder->value, path.lexically_normal().string());
}

}  // namespace

Result<void> make_paths_absolute(YamlNode& tree, const std::filesystem::path& folder) {
  const bool is_of_a_table = tree.find("table") != nullptr;
  YamlEntry* data = tree.find(is_of_a_table ? "table" : "data");
  for (std::string_view key : {"path", "test_path"}) {
    YamlEntry* path = data == nullptr ? nullptr : data->value.find(key);
    if (path != nullptr && !path->value.scalar.empty())
      DETOL_TRY(set_path(path->value, absolute_data_path(path->value, folder)));
  }
  return set_folder_of_command(tree);
}

bool is_study_name(std::string_view name) {
  constexpr std::string_view kAccepted =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  return !name.empty() && name.size() <= 100 && !name.starts_with('.') &&
         name.find_first_not_of(kAccepted) == std::string_view::npos;
}

}  // namespace detol::inline encoding
