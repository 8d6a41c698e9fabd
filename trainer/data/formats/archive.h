#pragma once

// ArchiveReader: the members of a tar or zip file, one after the other; a tar may be packed with
// gzip. Nothing is ever written to disk. A member whose name is absolute or contains "..", or which
// is no file or folder, is an error, and so is a tar that unpacks to a hundred times its bytes.
// Not thread-safe. Users of this header do not see libarchive.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/descriptor.h"
#include "core/result.h"

struct archive;

namespace detol::inline trainer {

enum class ArchiveKind { kTar, kZip };

class ArchiveReader {
 public:
  ArchiveReader(ArchiveReader&&) noexcept;
  ArchiveReader& operator=(ArchiveReader&&) noexcept;
  ~ArchiveReader();

  // Opens an archive. Errors (kInput): as open_regular_file, or the file is no archive.
  static Result<ArchiveReader> open(const std::filesystem::path& path, ArchiveKind kind);

  // Goes to the next file and returns its name, or nullopt after the last.
  Result<std::optional<std::string>> next();

  // Returns the file's contents. Allocates as the bytes are read, not by the size in a header.
  // Errors (kInput): it has more than `limit_bytes`, or is damaged.
  Result<std::string> read(std::size_t limit_bytes);

  // Returns the error "<path>: byte <offset of the member>: <name>: <what>; <remedy>", as kInput.
  tl::unexpected<Error> error(std::string_view what, std::string_view remedy) const;

  std::uint64_t offset() const { return offset_; }  // of the member's header; 0 in a zip
  const std::filesystem::path& path() const { return path_; }

 private:
  struct Packed;
  struct Closer {
    void operator()(archive* reader) const;
  };
  ArchiveReader(std::filesystem::path path, ArchiveKind kind, std::unique_ptr<Packed> packed,
                std::unique_ptr<archive, Closer> reader);

  Result<void> expect_end_mark() const;
  tl::unexpected<Error> damaged() const;

  std::filesystem::path path_;
  ArchiveKind kind_;
  std::unique_ptr<Packed> packed_;  // outlives reader_
  std::unique_ptr<archive, Closer> reader_;
  std::string name_;
  std::uint64_t offset_ = 0;
};

}  // namespace detol::inline trainer
