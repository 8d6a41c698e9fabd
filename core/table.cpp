#include "core/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace detol {
namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({substituted, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

// How many bytes the printable UTF-8 character has that `text` begins with; 0: it begins with
// none. (fmt's {:?} fails on text that is cut in mid-character: version 9.)
std::size_t printable_bytes(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0x80) return byte(0) >= 0x20 && byte(0) != 0x7f ? 1 : 0;
  if (byte(0) < 0xc2 || byte(0) > 0xf4) return 0;
  const std::size_t size = byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : 2;
  if (text.size() < size) return 0;
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  return byte(0) == 0xc2 && byte(1) < 0xa0 ? 0 : size;  // U+0080 to U+009F control terminals
}

// One character or byte as a person may see it.
std::string escaped(std::string_view character) {
  if (character == "\n") return "\\n";
  if (character == "\t") return "\\t";
  if (character == "\r") return "\\r";
  return fmt::format("\\x{:02x}", static_cast<unsigned char>(character.front()));
}

}  // namespace

std::string join(std::span<const std::string_view> words, std::string_view separator) {
  return fmt::format("{}", fmt::join(words, separator));
}

std::string in_quotes(std::string_view text) {
  std::string quoted = "'";
  for (std::string_view rest = text.substr(0, 80); !rest.empty();) {
    const std::size_t bytes = printable_bytes(rest);
    quoted += bytes > 0 ? std::string(rest.substr(0, bytes)) : escaped(rest.substr(0, 1));
    rest.remove_prefix(std::max<std::size_t>(bytes, 1));
  }
  return quoted + "'";
}

std::optional<std::string> did_you_mean(std::string_view word,
                                        std::span<const std::string_view> known) {
  constexpr std::size_t kLongest = 64;  // a longer word is no slip of the finger
  if (word.size() > kLongest) return std::nullopt;
  std::size_t nearest = std::max<std::size_t>(2, word.size() / 3) + 1;
  std::optional<std::string> guess;
  for (std::string_view candidate : known) {
    if (candidate.size() > kLongest) continue;
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < nearest && distance < candidate.size()) {
      nearest = distance;
      guess = std::string(candidate);
    }
  }
  return guess;
}

std::string unknown_name(std::string_view what, std::string_view word,
                         std::span<const std::string_view> known) {
  std::string text = fmt::format("unknown {} {}; ", what, in_quotes(word));
  if (const auto guess = did_you_mean(word, known))
    text += fmt::format("did you mean '{}'? ", *guess);
  return text + "known: " + join(known);
}

}  // namespace detol
