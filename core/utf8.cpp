#include "core/utf8.h"

#include <fmt/format.h>

#include <algorithm>

namespace detol::inline core {
namespace {

// Returns true for U+0000 to U+001F and U+007F to U+009F.
bool controls_terminal(std::string_view character) {
  const auto first = static_cast<unsigned char>(character.front());
  return first < 0x20 || first == 0x7f || (first == 0xc2 && character < "\xc2\xa0");
}

std::string escaped(char byte) {
  if (byte == '\n') return "\\n";
  if (byte == '\t') return "\\t";
  if (byte == '\r') return "\\r";
  return fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
}

}  // namespace

std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  if (first == 0xE0 && byte(1) < 0xA0) return 0;
  if (first == 0xED && byte(1) > 0x9F) return 0;
  if (first == 0xF0 && byte(1) < 0x90) return 0;
  if (first == 0xF4 && byte(1) > 0x8F) return 0;
  return length;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

bool is_plain_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

std::string printable(std::string_view text) {
  if (is_plain_ascii(text)) return std::string(text);
  std::string line;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const std::string_view character = text.substr(0, length > 0 ? length : 1);
    if (length > 0 && !controls_terminal(character))
      line += character;
    else
      for (const char byte : character) line += escaped(byte);
    text.remove_prefix(character.size());
  }
  return line;
}

std::string printable_excerpt(std::string_view text) {
  constexpr std::size_t kMostBytes = 400;
  if (text.size() <= kMostBytes) return printable(text);
  const auto is_inside_character = [&](std::size_t at) {
    return (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80;
  };
  std::size_t end = kMostBytes;
  while (end > kMostBytes - 4 && is_inside_character(end)) --end;
  return printable(text.substr(0, end)) + "...";
}

}  // namespace detol::inline core
