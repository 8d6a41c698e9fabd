#pragma once

// MappedFile: the bytes of a file as memory that all processes of a machine share: they are read
// from the disk once, when somebody first looks at them. Immutable; safe to share between threads.
// Whoever cuts the file meanwhile ends its readers (SIGBUS): replace it by renaming another over
// it.

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>

#include "core/result.h"

namespace detol::inline core {

class MappedFile {
 public:
  // Errors (kInput): as open_regular_file, with the path and why.
  static Result<MappedFile> open(const std::filesystem::path& path);

  std::span<const std::byte> bytes() const { return {bytes_.get(), size_}; }

  // Keeps the mapping alive; the bytes from `offset` on.
  std::shared_ptr<const std::byte> share(std::size_t offset) const {
    return {bytes_, bytes_.get() + offset};
  }

 private:
  std::shared_ptr<const std::byte> bytes_;
  std::size_t size_ = 0;
};

}  // namespace detol::inline core
