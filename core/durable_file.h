#pragma once

// DurableFile: a file written piece by piece that is whole or absent. It grows as `<path>.tmp`,
// and takes its name when all of it is on the disk: a crash at any instant leaves the old file or
// the new one. Not thread-safe.

#include <filesystem>
#include <string_view>

#include "core/descriptor.h"
#include "core/result.h"

namespace detol {

class DurableFile {
 public:
  // Errors, here and below: kStorage, with the path and the reason.
  static Result<DurableFile> create(const std::filesystem::path& path);
  DurableFile(DurableFile&& other) noexcept;
  DurableFile& operator=(DurableFile&&) = delete;
  ~DurableFile();  // removes the temporary file of what was not kept

  Result<void> append(std::string_view bytes);

  // fsyncs, renames over `path` and fsyncs the folder. Nothing is appended after it.
  Result<void> keep();

 private:
  DurableFile(std::filesystem::path path, std::filesystem::path temporary, Descriptor file);

  std::filesystem::path path_;
  std::filesystem::path temporary_;  // empty: there is none any more
  Descriptor file_;
};

}  // namespace detol
