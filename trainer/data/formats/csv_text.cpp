#include "trainer/data/formats/csv_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

namespace detol::inline trainer {
namespace {

constexpr std::size_t kLookedAt = 4096;  // bytes

struct ForeignFile {
  std::string_view begin, what;
};
constexpr std::array kForeignFiles = {
    ForeignFile{"PK\x03\x04", "an Excel workbook or another ZIP file"},
    ForeignFile{"\xd0\xcf\x11\xe0", "an old Excel workbook"},
    ForeignFile{"PAR1", "a Parquet file"},
    ForeignFile{"SQLite format 3", "an SQLite database"},
    ForeignFile{"\x1f\x8b", "a gzip file"},
    ForeignFile{"{\"", "JSON"},
    ForeignFile{"[{", "JSON"},
    ForeignFile{"{\n", "JSON"},
    ForeignFile{"[\n", "JSON"},
    ForeignFile{"<!DOCTYPE", "a web page"},
    ForeignFile{"<!doctype", "a web page"},
    ForeignFile{"<html", "a web page"},
    ForeignFile{"@relation", "an ARFF file"},
    ForeignFile{"@RELATION", "an ARFF file"},
    ForeignFile{std::string_view("\xff\xfe\0\0", 4), "text in UTF-32"},
    ForeignFile{std::string_view("\0\0\xfe\xff", 4), "text in UTF-32"}};

enum class ByteOrder { kLittle, kBig };

// Returns the byte order of UTF-16, by its mark, or because every other byte of a text of digits
// and Latin letters is 0; nullopt: it is another encoding.
std::optional<ByteOrder> utf16_in(std::string_view bytes) {
  if (bytes.starts_with("\xff\xfe")) return ByteOrder::kLittle;
  if (bytes.starts_with("\xfe\xff")) return ByteOrder::kBig;
  const std::string_view head = bytes.substr(0, kLookedAt);
  std::array<std::size_t, 2> zeros{};
  for (std::size_t i = 0; i < head.size(); ++i) zeros[i % 2] += head[i] == '\0' ? 1 : 0;
  const std::size_t most = std::max(zeros[0], zeros[1]), least = std::min(zeros[0], zeros[1]);
  if (head.size() < 4 || most * 4 < head.size() || least * 10 > most) return std::nullopt;
  return zeros[0] > zeros[1] ? ByteOrder::kBig : ByteOrder::kLittle;
}

void append_utf8(std::uint32_t character, std::string& text) {
  const auto tail = [&](int shift) {
    text += static_cast<char>(0x80 | ((character >> shift) & 0x3f));
  };
  if (character < 0x80) {
    text += static_cast<char>(character);
  } else if (character < 0x800) {
    text += static_cast<char>(0xc0 | (character >> 6));
    tail(0);
  } else if (character < 0x10000) {
    text += static_cast<char>(0xe0 | (character >> 12));
    tail(6);
    tail(0);
  } else {
    text += static_cast<char>(0xf0 | (character >> 18));
    tail(12);
    tail(6);
    tail(0);
  }
}

bool is_surrogate(std::uint32_t unit, std::uint32_t first) {
  return unit >= first && unit < first + 0x400;
}

// Returns the text; nullopt, with the place in `at`, if it is damaged.
std::optional<std::string> from_utf16(std::string_view bytes, ByteOrder order, std::size_t& at) {
  const auto unit = [&](std::size_t i) {
    const auto first = static_cast<unsigned char>(bytes[i]);
    const auto second = static_cast<unsigned char>(bytes[i + 1]);
    return static_cast<std::uint32_t>(order == ByteOrder::kLittle ? second << 8 | first
                                                                  : first << 8 | second);
  };
  std::string text;
  for (at = 0; at + 1 < bytes.size(); at += 2) {
    std::uint32_t character = unit(at);
    if (at == 0 && character == 0xfeff) continue;
    if (is_surrogate(character, 0xdc00)) return std::nullopt;
    if (is_surrogate(character, 0xd800)) {
      if (at + 3 >= bytes.size() || !is_surrogate(unit(at + 2), 0xdc00)) return std::nullopt;
      character = 0x10000 + ((character - 0xd800) << 10) + (unit(at + 2) - 0xdc00);
      at += 2;
    }
    append_utf8(character, text);
  }
  return at == bytes.size() ? std::optional(std::move(text)) : std::nullopt;
}

}  // namespace

Result<CsvText> csv_text(const std::filesystem::path& path, std::string_view bytes) {
  for (const ForeignFile& file : kForeignFiles) {
    if (!bytes.starts_with(file.begin)) continue;
    return fail(ErrorCode::kInput, fmt::format("{}: {}, not a CSV file; save the table as CSV, in "
                                               "UTF-8",
                                               path.string(), file.what));
  }
  const auto order = utf16_in(bytes);
  if (!order) return CsvText{.text = std::string(bytes)};
  std::size_t at = 0;
  auto text = from_utf16(bytes, *order, at);
  if (!text)
    return fail(
        ErrorCode::kInput,
        fmt::format("{}: byte {}: damaged UTF-16; save the file as UTF-8", path.string(), at));
  return CsvText{.text = *std::move(text), .remark = "the file is in UTF-16"};
}

}  // namespace detol::inline trainer
