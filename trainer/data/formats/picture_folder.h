#pragma once

// PictureFolder: the JPEG and PNG files of a data set in folders, one for each class, and what else
// lies there. Any thread.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"

namespace detol::inline trainer {

// PictureFiles: the pictures of one split. A class has those of its folder and of all folders
// inside it, by name.
struct PictureFiles {
  std::vector<std::filesystem::path> paths;
  std::vector<std::int32_t> labels;  // one for each path
  // Files that are no pictures by their name, but for hidden ones and what Windows puts there.
  std::vector<std::filesystem::path> passed_over;
};

struct PictureFolder {
  std::vector<std::string> class_names;  // names of folders, sorted as bytes
  PictureFiles training;
  std::optional<PictureFiles> validation, test;
};

// Lists train/CLASS, and val/ and test/ of the same classes where they are there, or CLASS alone.
// The splits may also be called training, valid, validation and testing, in upper or lower case.
// Names that begin with a dot are passed over, and so is __MACOSX. Errors (kInput): no two classes,
// a class without pictures, a class that is not in train/, a name that is not UTF-8.
Result<PictureFolder> list_pictures(const std::filesystem::path& root);

// The largest file that is read as a picture, in bytes.
inline constexpr std::size_t kLargestPictureFile = std::size_t{1} << 28;

// Returns the error "<path>: <what>; fix or remove this file", as kInput.
tl::unexpected<Error> picture_error(const std::filesystem::path& path, std::string_view what);

}  // namespace detol::inline trainer
