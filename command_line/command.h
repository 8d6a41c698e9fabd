#pragma once

// Commands: what a program can be told to do. A command is data: its name, its options, examples
// and a function. From the table of all of them come the parser (parse.h), the help, the
// did-you-mean, the completions (completion.h) and the manual (manual.h).

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/log.h"
#include "core/result.h"
#include "printing/style.h"

namespace detol::inline command_line {

// Globals holds the global options, which every command accepts.
struct Globals : PrintStyle {
  std::string storage;
  bool quiet = false;
  LogOptions log;
};

// Option: an option or a positional argument of a command.
struct Option {
  std::string_view name;   // "--budget", "-j,--workers"; positional: "STUDY"
  std::string_view value;  // a flag's argument: "FILE", "PATH..."; empty: a switch
  std::string_view help;
  enum Arity { kOptional, kRequired, kRepeated } arity = kOptional;
  std::vector<std::string_view> words = {};  // the accepted values; empty: any

  // Returns its key in Arguments: "budget", "workers", "STUDY".
  std::string_view key() const;
  bool is_positional() const { return !name.starts_with('-'); }
  bool is_list() const { return value.ends_with("..."); }  // one flag, several words
  bool is_switch() const { return value.empty() && !is_positional(); }
};

// Returns the error of wrong words on the command line.
template <typename... Args>
tl::unexpected<Error> usage_error(fmt::format_string<Args...> text, Args&&... args) {
  return fail(ErrorCode::kUsage, fmt::format(text, std::forward<Args>(args)...));
}

// Returns an option whose value is one of these words.
Option one_of(std::string_view name, std::string_view value, std::string_view help,
              std::vector<std::string_view> words);

// Arguments: the words of one call, by the keys of the command's options.
struct Arguments {
  Globals globals;
  std::map<std::string, std::vector<std::string>, std::less<>> given;

  bool has(std::string_view key) const { return given.contains(key); }
  std::string text(std::string_view key, std::string_view otherwise = {}) const;
  std::optional<std::string> maybe(std::string_view key) const;
  std::vector<std::string> all(std::string_view key) const;

  // Returns a whole number of at least `low`; nullopt if it was not given. Errors (kUsage).
  Result<std::optional<std::int64_t>> number(std::string_view key, std::int64_t low) const;
};

struct Command {
  std::string_view name;  // "search"; in a group two words: "study rename"
  std::string_view summary;
  std::vector<Option> options;
  std::string_view examples;                       // shown under the help, one per line
  Result<int> (*run)(const Arguments& arguments);  // the exit code, unless it is an error
  std::string (*notes)() = nullptr;                // more help, such as the table of algorithms
};

// CommandGroup: a first word that several commands share, as in "study rename" and "study copy".
struct CommandGroup {
  std::string_view name;
  std::string_view summary;
};

struct CommandTable {
  std::span<const Command> commands;  // in the order of --help; those of a group are neighbours
  std::span<const CommandGroup> groups;
  std::span<const Option> globals;  // those that every command accepts
};

// Words splits a command's name; `second` is empty unless the command belongs to a group.
struct Words {
  std::string_view first, second;
};
Words words_of(const Command& command);

// Returns the flags that may follow a command: "--budget", ..., the global ones last.
std::vector<std::string_view> flags_of(const CommandTable& table, const Command& command);

// Returns what may follow `detol`: the names of commands and groups.
std::vector<std::string_view> first_words(const CommandTable& table);

// Returns the second words of the commands of a group.
std::vector<std::string_view> words_of(const CommandTable& table, const CommandGroup& group);

}  // namespace detol::inline command_line
