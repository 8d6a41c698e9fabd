#pragma once

// A table lists the implementations of one interface, in the order of the help text. It is a
// constant next to its interface; nothing registers itself.
//
//   struct SearcherRow { std::string_view name, summary; make* };   span<const SearcherRow>
//   searchers();
//
// The helpers here work on any span of rows that have a `name`.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace detol::inline core {

// Returns the names of a table's rows, in its order.
template <typename Row>
std::vector<std::string_view> names_of(std::span<const Row> table) {
  std::vector<std::string_view> names;
  for (const Row& row : table) names.push_back(row.name);
  return names;
}

// Returns the row of that name, or nullptr.
template <typename Row>
const Row* find_row(std::span<const Row> table, std::string_view name) {
  for (const Row& row : table) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

// Prints which name has no row and aborts the process, in release builds, too.
[[noreturn]] void end_for_unknown_name(std::string_view name);

// Returns the row of a name that was checked before: a name without a row is a defect of detol.
template <typename Row>
const Row& known_row(std::span<const Row> table, std::string_view name) {
  const Row* row = find_row(table, name);
  if (row == nullptr) end_for_unknown_name(name);
  return *row;
}

// Returns "a, b, c".
std::string join(std::span<const std::string_view> words, std::string_view separator = ", ");

// Quotes untrusted text for a message: in single quotes, one line, at most 80 bytes of it.
std::string in_quotes(std::string_view text);

// Compares as ASCII.
bool same_but_for_case(std::string_view a, std::string_view b);

// Returns the known word that `word` is in another case, or a part of, else the nearest one by edit
// distance, if it is near enough to be a typo.
std::optional<std::string> did_you_mean(std::string_view word,
                                        std::span<const std::string_view> known);

// Returns what to write for a word of another tool: "low" for the key "min". `what` is "key",
// "word", "algorithm", "option" or "command"; empty if it is none, or if its translation is not
// known.
std::string_view said_here(std::string_view what, std::string_view word,
                           std::span<const std::string_view> known);

// Returns "unknown optimizer 'adm'; did you mean 'adamw'? known: sgd, adamw", or for a word of
// another tool "unknown key 'min'; write low; known: type, low, high".
std::string unknown_name(std::string_view what, std::string_view word,
                         std::span<const std::string_view> known);

}  // namespace detol::inline core
