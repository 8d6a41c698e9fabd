#pragma once

// PackedFile: the bytes of a file, front to back, unpacked on the way if it is a gzip file.
// Sizes that a header in the file claims can be compared with largest_size() before memory is
// allocated. Not thread-safe. Users of this header do not see zlib.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "core/result.h"

namespace detol::inline trainer {

class PackedFile {
 public:
  static Result<PackedFile> open(const std::filesystem::path& path);

  // Unpacks the whole file at once, so that largest_size() is exact.
  static Result<PackedFile> open_unpacked(const std::filesystem::path& path);

  // Wraps bytes that were unpacked elsewhere; `path` is for messages.
  static PackedFile of_bytes(std::filesystem::path path, std::string bytes);

  PackedFile(PackedFile&&) noexcept;
  PackedFile& operator=(PackedFile&&) noexcept;
  ~PackedFile();

  // Fills `out`. Errors (kInput): the file ends before, or its packing is damaged.
  Result<void> read(std::span<std::uint8_t> out);

  // Returns all bytes from here to the end. Allocates as they are read, not by the size in the
  // trailer.
  Result<std::string> read_rest();

  // Checks that the file ends here. Errors (kInput): bytes follow, or a gzip checksum is wrong.
  Result<void> expect_end();

  const std::filesystem::path& path() const { return path_; }
  std::uint64_t offset() const { return offset_; }  // unpacked bytes read so far

  // Returns the most unpacked bytes that there can be: of a gzip file, the largest size that agrees
  // with its trailer (size modulo 2^32) and the ratio of deflate.
  std::uint64_t largest_size() const;

  // Returns the error "<path>: byte <offset>: <what>; <remedy>", as kInput.
  tl::unexpected<Error> error_at(std::uint64_t offset, std::string_view what) const;

 private:
  struct Inflater;
  PackedFile(std::filesystem::path path, std::string bytes);

  Result<void> inflate_into(std::span<std::uint8_t> out);
  Result<std::size_t> inflate_some(std::span<std::uint8_t> out);
  tl::unexpected<Error> damaged() const;

  std::filesystem::path path_;
  std::string bytes_;
  std::uint64_t offset_ = 0;
  std::unique_ptr<Inflater> inflater_;  // null for a plain file
  bool was_packed_ = false;             // if so, offsets in messages count unpacked bytes
};

}  // namespace detol::inline trainer
