#include "trainer/data/formats/exif.h"

#include <zlib.h>

#include <algorithm>
#include <string_view>

namespace detol::inline trainer {
namespace {

using Bytes = std::span<const std::uint8_t>;

// Returns an unsigned number of `count` bytes; 0 if they are not all there.
std::uint32_t number_at(Bytes bytes, std::size_t at, std::size_t count, bool is_little) {
  if (at > bytes.size() || bytes.size() - at < count) return 0;
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < count; ++i)
    number = number << 8 | bytes[at + (is_little ? count - 1 - i : i)];
  return number;
}

bool starts_with(Bytes bytes, std::string_view text) {
  return bytes.size() >= text.size() &&
         std::equal(text.begin(), text.end(), bytes.begin(),
                    [](char a, std::uint8_t b) { return static_cast<std::uint8_t>(a) == b; });
}

int orientation_of_tiff(Bytes tiff) {
  constexpr std::uint32_t kOrientation = 0x0112, kShort = 3, kLong = 4;
  constexpr std::size_t kEntryBytes = 12;
  const bool is_little = starts_with(tiff, "II");
  if (!is_little && !starts_with(tiff, "MM")) return 1;
  const std::size_t directory = number_at(tiff, 4, 4, is_little);
  const std::size_t entries = number_at(tiff, directory, 2, is_little);
  for (std::size_t i = 0; i < entries; ++i) {
    const std::size_t entry = directory + 2 + i * kEntryBytes;
    if (number_at(tiff, entry, 2, is_little) != kOrientation) continue;
    const std::uint32_t type = number_at(tiff, entry + 2, 2, is_little);
    if (type != kShort && type != kLong) return 1;
    const std::uint32_t value = number_at(tiff, entry + 8, type == kShort ? 2 : 4, is_little);
    return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

}  // namespace

int orientation_of_jpeg(Bytes file) {
  constexpr std::string_view kExif("Exif\0\0", 6);
  constexpr std::uint32_t kApp1 = 0xe1, kStartOfScan = 0xda;
  for (std::size_t at = 2; at + 4 <= file.size() && file[at] == 0xff;) {
    const std::uint32_t marker = file[at + 1];
    if (marker == 0xff) {  // a fill byte
      ++at;
      continue;
    }
    const std::size_t length = number_at(file, at + 2, 2, false);
    if (marker == kStartOfScan || length < 2 || length > file.size() - at - 2) return 1;
    const Bytes segment = file.subspan(at + 4, length - 2);
    if (marker == kApp1 && starts_with(segment, kExif))
      return orientation_of_tiff(segment.subspan(kExif.size()));
    at += 2 + length;
  }
  return 1;
}

int orientation_of_png(Bytes file) {
  constexpr std::size_t kSignature = 8, kAround = 12;  // length, type and checksum of a chunk
  for (std::size_t at = kSignature; at <= file.size() && file.size() - at >= kAround;) {
    const std::size_t length = number_at(file, at, 4, false);
    if (length > file.size() - at - kAround) return 1;
    const Bytes type_and_data = file.subspan(at + 4, length + 4);
    if (starts_with(type_and_data, "eXIf")) {
      const auto sum = crc32(0, type_and_data.data(), static_cast<uInt>(type_and_data.size()));
      if (sum != number_at(file, at + 8 + length, 4, false)) return 1;
      return orientation_of_tiff(type_and_data.subspan(4));
    }
    at += kAround + length;
  }
  return 1;
}

void turn_upright(Bytes from, const StoredSize& size, int orientation, std::span<std::uint8_t> to) {
  const bool exchanges = exchanges_sides(orientation);
  const bool flips_rows =
      orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  const bool flips_columns =
      orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const auto height = static_cast<std::ptrdiff_t>(size.height);
  const auto width = static_cast<std::ptrdiff_t>(size.width);
  const auto channels = static_cast<std::ptrdiff_t>(size.channels);
  // The steps in `from` to the next row and column that are stored, in the order of being upright.
  const std::ptrdiff_t row = (flips_rows ? -width : width) * channels;
  const std::ptrdiff_t column = flips_columns ? -channels : channels;
  const std::ptrdiff_t corner = (flips_rows ? (height - 1) * width * channels : 0) +
                                (flips_columns ? (width - 1) * channels : 0);
  const std::ptrdiff_t down = exchanges ? column : row, across = exchanges ? row : column;
  std::uint8_t* out = to.data();
  for (std::ptrdiff_t y = 0; y < (exchanges ? width : height); ++y) {
    std::ptrdiff_t at = corner + y * down;
    for (std::ptrdiff_t x = 0; x < (exchanges ? height : width); ++x, at += across)
      out = std::copy_n(from.data() + at, channels, out);
  }
}

}  // namespace detol::inline trainer
