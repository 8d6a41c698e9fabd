#pragma once

// The layout of a database file in pages, and the checksum at the end of each: what
// page_checksums.h describes, as functions of bytes.

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace detol::inline knowledge::sqlite {

inline constexpr int kChecksumBytes = 8;  // reserved at the end of each page

using Page = std::span<std::byte>;
using Checksum = std::array<std::byte, kChecksumBytes>;

inline constexpr std::int64_t kHeaderBytes = 100;         // of page 1 (sqlite.org/fileformat2.html)
inline constexpr std::int64_t kPendingByte = 0x40000000;  // SQLite's locks: its page is never used

bool is_size_of_page(std::int64_t bytes);

// Returns the checksum of the page with that number, from 1.
Checksum checksum_of(Page page, std::int64_t number);

Checksum stored_checksum(Page page);
void store_checksum(Page page, const Checksum& checksum);

// Layout: the size of pages, and whether they end with checksums.
struct Layout {
  std::int64_t page_size = 0;  // 0: unknown, as of an empty file
  bool has_checksums = false;

  bool operator==(const Layout&) const = default;

  std::int64_t page_at(std::int64_t offset) const { return offset / page_size + 1; }
  bool is_page(std::int64_t offset, std::int64_t bytes) const {
    return page_size > 0 && bytes == page_size && offset % page_size == 0;
  }
  bool is_checked_page(std::int64_t offset, std::int64_t bytes) const {
    return has_checksums && is_page(offset, bytes);
  }
  bool verifies(Page page, std::int64_t offset) const {
    return stored_checksum(page) == checksum_of(page, page_at(offset));
  }
};

// REQUIRES: `page` begins with the header of a database.
Layout layout_from_header(Page page);

// Returns the layout by a page 1 that was read. A damaged byte 20 must not disable verification:
// if the checksum is right for a page that announces checksums, there are checksums.
Layout layout_from_page(Page page);

}  // namespace detol::inline knowledge::sqlite
