#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/output.h"

namespace detol::inline cli {
namespace {

// Returns the words that may follow a command: its flags and the global ones.
std::string flags_of(const Command& command) {
  std::string text;
  for (const auto& options : {std::span<const Option>(command.options), global_options()}) {
    for (const Option& option : options) {
      if (!option.is_positional()) text += fmt::format("--{} ", option.key());
    }
  }
  return text + "--help";
}

// Words splits a command's name; `second` is empty unless the command belongs to a group.
struct Words {
  std::string_view first, second;
};
Words words_of(const Command& command) {
  const std::size_t space = command.name.find(' ');
  if (space == std::string_view::npos) return {command.name, {}};
  return {command.name.substr(0, space), command.name.substr(space + 1)};
}

// Returns what completes the word after `detol <first>` or `detol <first> <second>`.
std::string bash_cases() {
  std::string text;
  for (const CommandGroup& group : command_groups()) {
    text += fmt::format("    '{} ') words='{} --help' ;;\n", group.name,
                        fmt::join(words_of(group), " "));
  }
  for (const Command& command : commands()) {
    const bool is_single = words_of(command).second.empty();
    text += fmt::format("    '{}'{}) words='{}' ;;\n", command.name, is_single ? "\\ *" : "",
                        flags_of(command));
  }
  return text;
}

std::string bash_script() {
  return fmt::format(
      "_detol() {{\n  local word=${{COMP_WORDS[COMP_CWORD]}} second= words=\n"
      "  [ \"$COMP_CWORD\" -le 2 ] || second=${{COMP_WORDS[2]}}\n"
      "  case \"${{COMP_WORDS[1]}} $second\" in\n{}  esac\n"
      "  [ \"$COMP_CWORD\" -gt 1 ] || words='{} --help --version'\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n}}\n"
      "complete -o default -F _detol detol ./detol\n",
      bash_cases(), fmt::join(first_words(), " "));
}

std::string zsh_script() {
  return "#compdef detol\nautoload -U +X bashcompinit && bashcompinit\n" + bash_script();
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

std::string fish_options(const Command& command) {
  std::string text;
  for (const Option& option : command.options) {
    if (option.is_positional()) continue;
    text +=
        fmt::format("complete -c detol -n '{}' -l {}{} -d {}\n", fish_condition(words_of(command)),
                    option.key(), option.is_switch() ? "" : " -r", shell_word(option.help));
  }
  return text;
}

std::string fish_word(std::string_view condition, std::string_view word, std::string_view help) {
  return fmt::format("complete -c detol -n '{}' -f -a {} -d {}\n", condition, word,
                     shell_word(help));
}

std::string fish_script() {
  constexpr std::string_view kFirst = "__fish_use_subcommand";
  std::string text = "complete -c detol -n __fish_use_subcommand -l help\n";
  for (const CommandGroup& group : command_groups())
    text += fish_word(kFirst, group.name, group.summary);
  for (const Command& command : commands()) {
    const Words words = words_of(command);
    if (words.second.empty())
      text += fish_word(kFirst, words.first, command.summary);
    else
      text += fish_word(fish_condition({words.first, {}}), words.second, command.summary);
    text += fish_options(command);
  }
  return text;
}

Result<int> run_completion(const Arguments& arguments) {
  const std::string shell = arguments.text("SHELL");
  DETOL_TRY(print_data(shell == "bash"  ? bash_script()
                       : shell == "zsh" ? zsh_script()
                                        : fish_script()));
  return 0;
}

}  // namespace

Command completion_command() {
  return {.name = "completion",
          .summary = "print a script that completes detol's words in a shell",
          .options = {{"SHELL", "", "which shell", Option::kRequired, {"bash", "zsh", "fish"}}},
          .examples =
              "  source <(detol completion bash)\n"
              "  detol completion fish > ~/.config/fish/completions/detol.fish",
          .run = run_completion};
}

}  // namespace detol::inline cli
