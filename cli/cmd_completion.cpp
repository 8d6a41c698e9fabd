#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/output.h"

namespace detol {
namespace {

// The words that may follow a command: its flags and those that hold everywhere.
std::string flags_of(const Command& command) {
  std::string text;
  for (const auto& options : {std::span<const Option>(command.options), global_options()}) {
    for (const Option& option : options) {
      if (!option.is_positional()) text += fmt::format("--{} ", option.key());
    }
  }
  return text + "--help";
}

std::string command_names() {
  std::string text;
  for (const Command& command : commands()) text += fmt::format("{} ", command.name);
  return text + "--help --version";
}

std::string bash_script() {
  std::string text =
      "_detol() {\n  local word=${COMP_WORDS[COMP_CWORD]} words\n"
      "  case ${COMP_WORDS[1]} in\n";
  for (const Command& command : commands())
    text += fmt::format("    {}) words='{}' ;;\n", command.name, flags_of(command));
  text += "  esac\n";
  text += fmt::format("  [ \"$COMP_CWORD\" -gt 1 ] || words='{}'\n", command_names());
  text +=
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n}\n"
      "complete -o default -F _detol detol ./detol\n";
  return text;
}

std::string zsh_script() {
  return "#compdef detol\nautoload -U +X bashcompinit && bashcompinit\n" + bash_script();
}

// As a word in single quotes.
std::string shell_word(std::string_view text) {
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("\\'") : std::string(1, c);
  return word + "'";
}

std::string fish_script() {
  std::string text = "complete -c detol -n __fish_use_subcommand -l help\n";
  for (const Command& command : commands()) {
    text += fmt::format("complete -c detol -n __fish_use_subcommand -f -a {} -d {}\n", command.name,
                        shell_word(command.summary));
    for (const Option& option : command.options) {
      if (option.is_positional()) continue;
      text += fmt::format("complete -c detol -n '__fish_seen_subcommand_from {}' -l {}{} -d {}\n",
                          command.name, option.key(), option.is_switch() ? "" : " -r",
                          shell_word(option.help));
    }
  }
  return text;
}

Result<int> run(const Arguments& arguments) {
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
          .run = run};
}

}  // namespace detol
