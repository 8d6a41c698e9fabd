#pragma once

// A temporary folder for the run of another program. Private to this folder.

#include <stdlib.h>

#include <filesystem>
#include <string>
#include <system_error>

namespace detol::inline exporting {

// WorkFolder: removed at the end. Its path is empty if it could not be made.
class WorkFolder {
 public:
  WorkFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "detol-XXXXXX").string();
    if (::mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ~WorkFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace detol::inline exporting
