#include "command_line/command.h"

#include <fmt/format.h>

#include <charconv>

namespace detol::inline command_line {

std::string_view Option::key() const {
  if (is_positional()) return name;
  return name.substr(name.find("--") + 2);
}

Option one_of(std::string_view name, std::string_view value, std::string_view help,
              std::vector<std::string_view> words) {
  return {name, value, help, Option::kOptional, std::move(words)};
}

std::string Arguments::text(std::string_view key, std::string_view otherwise) const {
  const auto found = given.find(key);
  return std::string(found == given.end() ? otherwise : found->second.back());
}

std::optional<std::string> Arguments::maybe(std::string_view key) const {
  return has(key) ? std::optional(text(key)) : std::nullopt;
}

std::vector<std::string> Arguments::all(std::string_view key) const {
  const auto found = given.find(key);
  return found == given.end() ? std::vector<std::string>{} : found->second;
}

Result<std::optional<std::int64_t>> Arguments::number(std::string_view key,
                                                      std::int64_t low) const {
  if (!has(key)) return std::nullopt;
  const std::string word = text(key);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size() || value < low) {
    return fail(
        ErrorCode::kUsage,
        fmt::format("{} is '{}'; it must be a whole number of at least {}", key, word, low));
  }
  return value;
}

Words words_of(const Command& command) {
  const std::size_t space = command.name.find(' ');
  if (space == std::string_view::npos) return {command.name, {}};
  return {command.name.substr(0, space), command.name.substr(space + 1)};
}

std::vector<std::string_view> flags_of(const CommandTable& table, const Command& command) {
  std::vector<std::string_view> flags;
  for (const auto& options : {std::span<const Option>(command.options), table.globals}) {
    for (const Option& option : options) {
      if (!option.is_positional()) flags.push_back(option.name.substr(option.name.find("--")));
    }
  }
  return flags;
}

std::vector<std::string_view> first_words(const CommandTable& table) {
  std::vector<std::string_view> words;
  for (const Command& command : table.commands) {
    const std::string_view first = words_of(command).first;
    if (words.empty() || words.back() != first) words.push_back(first);
  }
  return words;
}

std::vector<std::string_view> words_of(const CommandTable& table, const CommandGroup& group) {
  std::vector<std::string_view> words;
  for (const Command& command : table.commands) {
    const auto [first, second] = words_of(command);
    if (first == group.name && !second.empty()) words.push_back(second);
  }
  return words;
}

}  // namespace detol::inline command_line
