#pragma once

// MappedFile: the bytes of a file as memory that all processes of a machine share. They are read
// from the disk once, at the first access. Immutable; safe to share between threads. Truncating the
// file meanwhile kills its readers (SIGBUS): replace it by renaming another over it.

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>

#include "core/result.h"

namespace detol::inline core {

class MappedFile {
 public:
  // Maps a file. Errors (kInput): as open_regular_file, with the path and the reason.
  static Result<MappedFile> open(const std::filesystem::path& path);

  std::span<const std::byte> bytes() const { return {bytes_.get(), size_}; }

  // Returns the bytes from `offset` on; the pointer keeps the mapping alive.
  std::shared_ptr<const std::byte> share(std::size_t offset) const {
    return {bytes_, bytes_.get() + offset};
  }

 private:
  std::shared_ptr<const std::byte> bytes_;
  std::size_t size_ = 0;
};

}  // namespace detol::inline core
