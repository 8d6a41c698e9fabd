#pragma once

// DurableFile: a file written piece by piece that is whole or absent. It grows beside `path` as
// `<path>.tmp-<random>`, a new file that no symbolic link can redirect, and is renamed when all of
// it is on the disk: a crash at any instant leaves the old file or the new one. Not thread-safe.

#include <sys/types.h>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "core/descriptor.h"
#include "core/result.h"

namespace detol::inline core {

// FreshFile: an empty file that was not there before.
struct FreshFile {
  std::filesystem::path path;
  Descriptor file;
};

// Makes `<path>.tmp-<random>`. Errors (kStorage): path and reason.
Result<FreshFile> create_beside(const std::filesystem::path& path, mode_t mode = 0644);

// Returns "a" for "a.tmp-<random>", nullopt for a name of another kind.
std::optional<std::string> finished_name(std::string_view temporary);

// Removes the temporary files that killed writers of `path` left beside it, by their names.
// REQUIRES: only this program keeps files in that folder, and no process writes `path`.
void remove_unfinished(const std::filesystem::path& path);

class DurableFile {
 public:
  // Creates the temporary file with `mode`. Errors, here and below: kStorage, with the path and
  // the reason.
  static Result<DurableFile> create(const std::filesystem::path& path, mode_t mode = 0644);
  DurableFile(DurableFile&& other) noexcept;
  DurableFile& operator=(DurableFile&&) = delete;
  ~DurableFile();  // removes the temporary file, unless keep() succeeded

  Result<void> append(std::string_view bytes);

  // fsyncs, renames over `path` and fsyncs the folder. No append() may follow.
  Result<void> keep();

 private:
  DurableFile(std::filesystem::path path, FreshFile fresh);

  std::filesystem::path path_;
  std::filesystem::path temporary_;  // empty after the rename
  Descriptor file_;
};

}  // namespace detol::inline core
