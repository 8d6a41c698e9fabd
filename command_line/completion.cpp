#include "command_line/completion.h"

#include <fmt/format.h>

#include <algorithm>

namespace detol::inline command_line {
namespace {

// Returns what completes the word after `detol <first>` or `detol <first> <second>`.
std::string bash_cases(const CommandTable& table) {
  std::string text;
  for (const CommandGroup& group : table.groups) {
    text += fmt::format("    '{} ') words='{} --help' ;;\n", group.name,
                        fmt::join(words_of(table, group), " "));
  }
  for (const Command& command : table.commands) {
    const bool is_single = words_of(command).second.empty();
    text += fmt::format("    '{}'{}) words='{} --help' ;;\n", command.name, is_single ? "\\ *" : "",
                        fmt::join(flags_of(table, command), " "));
  }
  return text;
}

// Returns the patterns of an option behind a command: 'trials '*' --sort', and of its short form.
std::string patterns_of(const Command* command, const Option& option) {
  const auto pattern = [&](std::string_view word) {
    if (command == nullptr) return fmt::format("*' {}'", word);
    const bool is_single = words_of(*command).second.empty();
    return fmt::format("'{}{}{}'", command->name, is_single ? " '*' " : " ", word);
  };
  std::string all;
  std::string_view rest = option.name;
  while (!rest.empty()) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    all += (all.empty() ? "" : "|") + pattern(rest.substr(0, comma));
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return all;
}

// Returns what completes the word behind an option that takes a value. No words: bash offers files.
std::string bash_values(const CommandTable& table, const CompletionWords& words) {
  std::string text;
  const auto add = [&](const Command* command, const Option& option, std::string_view values) {
    if (option.is_positional() || option.is_switch()) return;
    text += fmt::format("    {}) words={} ;;\n", patterns_of(command, option), values);
  };
  const auto plain = [&](const Option& option) {
    return fmt::format("'{}'", words.values(option));
  };
  for (const Command& command : table.commands) {
    for (const Option& option : command.options)
      add(&command, option, words.bash_values(command, option));
    for (const Option& option : table.globals) {
      const std::string own = words.bash_values(command, option);
      if (own != plain(option)) add(&command, option, own);
    }
  }
  for (const Option& option : table.globals) add(nullptr, option, plain(option));
  return text;
}

bool takes_study(const Command& command) {
  return !command.options.empty() && command.options.front().name == "STUDY";
}

// Returns the first words, joined by `|`, of the commands whose first argument is a study.
std::string commands_of_studies(const CommandTable& table) {
  std::string text;
  for (const Command& command : table.commands) {
    if (takes_study(command) && words_of(command).second.empty())
      text += fmt::format("{}{}", text.empty() ? "" : "|", command.name);
  }
  return text;
}

// `line` is the command with the word before the one that is completed.
std::string bash_script(const CommandTable& table, const CompletionWords& words) {
  return fmt::format(
      "_detol() {{\n  local word=${{COMP_WORDS[COMP_CWORD]}} second= words= study= line=\n"
      "  [ \"$COMP_CWORD\" -le 2 ] || second=${{COMP_WORDS[2]}}\n"
      "  case $second in -*) ;; *) study=$second ;; esac\n"
      "  case \"${{COMP_WORDS[1]}} $second\" in\n{}  esac\n"
      "  [ \"$COMP_CWORD\" -ne 2 ] || case \"${{COMP_WORDS[1]}}\" in\n"
      "    {}) words=\"$words $({})\" ;;\n  esac\n"
      "  line=\"${{COMP_WORDS[1]}} $second ${{COMP_WORDS[COMP_CWORD-1]}}\"\n"
      "  [ \"$COMP_CWORD\" -le 2 ] || case \"$line\" in\n{}{}"
      "  esac\n"
      "  [ \"$COMP_CWORD\" -gt 1 ] || words='{} --help --version'\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n}}\n"
      "complete -o default -F _detol detol ./detol\n",
      bash_cases(table), commands_of_studies(table), words.studies, bash_values(table, words),
      words.bash_cases, fmt::join(first_words(table), " "));
}

// Returns the text as a word in single quotes.
std::string shell_word(std::string_view text) {
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("\\'") : std::string(1, c);
  return word + "'";
}

// Returns the condition under which fish offers the options of a command.
std::string fish_condition(const Words& words) {
  std::string text = fmt::format("__fish_seen_subcommand_from {}", words.first);
  if (!words.second.empty())
    text += fmt::format("; and __fish_seen_subcommand_from {}", words.second);
  return text;
}

std::string fish_options(const Command& command, const CompletionWords& of) {
  std::string text;
  for (const Option& option : command.options) {
    if (option.is_positional()) continue;
    const std::string values = option.is_switch() ? "" : of.values(option);
    const std::string_view no_files = option.key() == "space" ? "" : " -f";
    const std::string words = values.empty() ? "" : fmt::format("{} -a '{}'", no_files, values);
    text += fmt::format("complete -c detol -n '{}' -l {}{}{} -d {}\n",
                        fish_condition(words_of(command)), option.key(),
                        option.is_switch() ? "" : " -r", words, shell_word(option.help));
  }
  if (takes_study(command))
    text += fmt::format("complete -c detol -n '{}' -f -a '({})'\n",
                        fish_condition(words_of(command)), of.studies);
  return text;
}

std::string fish_word(std::string_view condition, std::string_view word, std::string_view help) {
  return fmt::format("complete -c detol -n '{}' -f -a {} -d {}\n", condition, word,
                     shell_word(help));
}

std::string fish_script(const CommandTable& table, const CompletionWords& of) {
  constexpr std::string_view kFirst = "__fish_use_subcommand";
  std::string text = "complete -c detol -n __fish_use_subcommand -l help\n";
  for (const CommandGroup& group : table.groups)
    text += fish_word(kFirst, group.name, group.summary);
  for (const Command& command : table.commands) {
    const Words words = words_of(command);
    if (words.second.empty())
      text += fish_word(kFirst, words.first, command.summary);
    else
      text += fish_word(fish_condition({words.first, {}}), words.second, command.summary);
    text += fish_options(command, of);
  }
  return text;
}

}  // namespace

std::string completion_script(const CommandTable& table, std::string_view shell,
                              const CompletionWords& words) {
  if (shell == "fish") return fish_script(table, words);
  const std::string_view head = "#compdef detol\nautoload -U +X bashcompinit && bashcompinit\n";
  return fmt::format("{}{}", shell == "zsh" ? head : "", bash_script(table, words));
}

}  // namespace detol::inline command_line
