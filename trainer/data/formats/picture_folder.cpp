#include "trainer/data/formats/picture_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <span>

#include "core/table.h"
#include "core/utf8.h"
#include "trainer/data/formats/files.h"
#include "trainer/data/formats/picture.h"

namespace detol::inline trainer {
namespace {

namespace fs = std::filesystem;

std::string in_lower_case(std::string name) {
  std::ranges::transform(name, name.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name;
}

tl::unexpected<Error> unreadable_folder(const fs::path& folder, const std::error_code& error) {
  return fail(ErrorCode::kInput, fmt::format("{}: {}; name another folder with data.path or --data",
                                             folder.string(), error.message()));
}

bool is_left_by_a_system(const std::string& name) {
  const std::string lower = in_lower_case(name);
  return name.starts_with('.') || lower == "__macosx" || lower == "thumbs.db" ||
         lower == "desktop.ini";
}

// Returns the folders inside a folder, by name.
Result<std::vector<fs::path>> folders_in(const fs::path& folder) {
  std::vector<fs::path> paths;
  std::error_code error, ignored;
  fs::directory_iterator at(folder, error);
  for (; !error && at != fs::directory_iterator(); at.increment(error)) {
    if (is_left_by_a_system(at->path().filename().string())) continue;
    if (at->is_directory(ignored)) paths.push_back(at->path());
  }
  if (error) return unreadable_folder(folder, error);
  std::ranges::sort(paths);
  return paths;
}

Result<std::vector<std::string>> classes_in(const fs::path& folder) {
  DETOL_ASSIGN(const auto folders, folders_in(folder));
  std::vector<std::string> names;
  for (const fs::path& one : folders) {
    names.push_back(one.filename().string());
    if (is_utf8(names.back())) continue;
    return fail(ErrorCode::kInput,
                fmt::format("{}: the folder's name {}, a class, is not UTF-8; rename it",
                            folder.string(), in_quotes(names.back())));
  }
  if (names.size() >= 2) return names;
  return fail(ErrorCode::kInput,
              fmt::format("{}: {} folders of classes; there must be one for each class, at least "
                          "two{}",
                          folder.string(), names.size(),
                          names.empty() ? ""
                                        : fmt::format("; if they are in {}, name that folder",
                                                      in_quotes(names.front()))));
}

// Sorts the files of a class, in all of its folders, into pictures and others.
Result<void> list_class(const fs::path& folder, std::int32_t label, PictureFiles& files) {
  std::vector<fs::path> pictures;
  std::error_code error, ignored;
  fs::recursive_directory_iterator at(folder, error);
  for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    const std::string name = at->path().filename().string();
    const bool is_folder = at->is_directory(ignored);
    if (is_left_by_a_system(name)) {
      if (is_folder) at.disable_recursion_pending();
    } else if (!is_folder) {
      (is_picture(name) ? pictures : files.passed_over).push_back(at->path());
    }
  }
  if (error) return unreadable_folder(folder, error);
  if (pictures.empty())
    return picture_error(folder, "the class has no image: there is no .jpg, .jpeg or .png");
  std::ranges::sort(pictures);
  files.paths.insert(files.paths.end(), pictures.begin(), pictures.end());
  files.labels.resize(files.paths.size(), label);
  return {};
}

Result<PictureFiles> files_in(const fs::path& folder, std::span<const std::string> classes) {
  DETOL_ASSIGN(const auto folders, folders_in(folder));
  if (folders.empty()) return picture_error(folder, "there is no folder of a class");
  PictureFiles files;
  for (const fs::path& one : folders) {
    const auto name = std::ranges::find(classes, one.filename().string());
    if (name == classes.end()) return picture_error(one, "no class of this name is trained on");
    DETOL_TRY(list_class(one, static_cast<std::int32_t>(name - classes.begin()), files));
  }
  std::ranges::sort(files.passed_over);
  return files;
}

// Returns the first folder inside `root` that has one of the names, in any case.
Result<std::optional<fs::path>> split_in(const fs::path& root,
                                         std::span<const std::string_view> names) {
  DETOL_ASSIGN(const auto folders, folders_in(root));
  for (const std::string_view name : names) {
    const auto found = std::ranges::find_if(folders, [&](const fs::path& one) {
      return in_lower_case(one.filename().string()) == name;
    });
    if (found != folders.end()) return *found;
  }
  return std::nullopt;
}

}  // namespace

tl::unexpected<Error> picture_error(const fs::path& path, std::string_view what) {
  return fail(ErrorCode::kInput,
              fmt::format("{}: {}; fix or remove this file", path.string(), what));
}

Result<PictureFolder> list_pictures(const fs::path& root) {
  constexpr std::array<std::string_view, 2> kTraining = {"train", "training"};
  constexpr std::array<std::string_view, 3> kValidation = {"val", "valid", "validation"};
  constexpr std::array<std::string_view, 2> kTest = {"test", "testing"};
  DETOL_TRY(check_folder(root, "image", "train/CLASS/*.jpg"));
  DETOL_ASSIGN(const std::optional<fs::path> training, split_in(root, kTraining));
  PictureFolder folder;
  DETOL_ASSIGN(folder.class_names, classes_in(training.value_or(root)));
  DETOL_ASSIGN(folder.training, files_in(training.value_or(root), folder.class_names));
  if (!training) return folder;
  DETOL_ASSIGN(const std::optional<fs::path> validation, split_in(root, kValidation));
  DETOL_ASSIGN(const std::optional<fs::path> test, split_in(root, kTest));
  if (validation) {
    DETOL_ASSIGN(folder.validation, files_in(*validation, folder.class_names));
  }
  if (test) {
    DETOL_ASSIGN(folder.test, files_in(*test, folder.class_names));
  }
  return folder;
}

}  // namespace detol::inline trainer
