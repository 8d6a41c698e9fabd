#include "knowledge/storage/page_layout.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "core/hash.h"

namespace detol::inline knowledge::sqlite {
namespace {

constexpr std::size_t kReservedByte = 20;

}  // namespace

bool is_size_of_page(std::int64_t bytes) {
  return bytes >= 512 && bytes <= 65536 && std::has_single_bit(static_cast<std::uint64_t>(bytes));
}

Checksum checksum_of(Page page, std::int64_t number) {
  const std::uint64_t hash =
      hash64(page.first(page.size() - kChecksumBytes), static_cast<std::uint64_t>(number));
  Checksum checksum{};
  for (unsigned i = 0; i < checksum.size(); ++i)
    checksum[i] = static_cast<std::byte>(hash >> (8 * i));
  return checksum;
}

Checksum stored_checksum(Page page) {
  Checksum checksum{};
  std::ranges::copy(page.last(kChecksumBytes), checksum.begin());
  return checksum;
}

void store_checksum(Page page, const Checksum& checksum) {
  std::ranges::copy(checksum, page.last(kChecksumBytes).begin());
}

Layout layout_from_header(Page page) {
  const auto size = std::to_integer<std::int64_t>(page[16]) << 8 |  // 1 means 65536
                    std::to_integer<std::int64_t>(page[17]);
  Layout layout;
  layout.page_size = size == 1 ? 65536 : is_size_of_page(size) ? size : 0;
  layout.has_checksums = layout.page_size > 0 && page[kReservedByte] == std::byte{kChecksumBytes};
  return layout;
}

Layout layout_from_page(Page page) {
  Layout layout = layout_from_header(page);
  if (layout.has_checksums || !layout.is_page(0, static_cast<std::int64_t>(page.size())))
    return layout;
  const std::byte found = std::exchange(page[kReservedByte], std::byte{kChecksumBytes});
  layout.has_checksums = layout.verifies(page, 0);
  page[kReservedByte] = found;
  return layout;
}

}  // namespace detol::inline knowledge::sqlite
