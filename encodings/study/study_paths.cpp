#include "encodings/study/study_paths.h"

#include <fmt/format.h>

#include <cstdlib>
#include <string>
#include <string_view>

#include "core/table.h"
#include "core/utf8.h"

namespace detol::inline encoding {
namespace {

// Returns the path with the user's folder for what shells replace by it: no shell reads a space
// file.
std::filesystem::path at_home(const std::string& written) {
  const char* home = std::getenv("HOME");  // NOLINT(concurrency-mt-unsafe)
  if (home == nullptr || *home == '\0') return written;
  for (const std::string_view word : {"~/", "$HOME/", "${HOME}/"}) {
    if (written.starts_with(word)) return std::filesystem::path(home) / written.substr(word.size());
  }
  return written;
}

// Resolves a relative path against the current folder if it exists there, else against `folder`.
std::string absolute_data_path(const std::string& written, const std::filesystem::path& folder) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const fs::path here = fs::absolute(written, ignored);
  if (fs::exists(here, ignored)) return here.lexically_normal().string();
  return fs::absolute(folder / at_home(written), ignored).lexically_normal().string();
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
      DETOL_TRY(set_path(path->value, absolute_data_path(path->value.scalar, folder)));
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
