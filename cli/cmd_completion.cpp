#include <fmt/format.h>

#include <map>
#include <set>

#include "cli/commands.h"
#include "cli/completion.h"
#include "cli/output.h"
#include "core/table.h"
#include "scheduler/pruners/pruner.h"
#include "search/searcher.h"

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

// Returns the values of each option, "--state" to WAITING, RUNNING, ..., over all commands.
std::map<std::string, std::set<std::string_view>> values_of_options() {
  std::map<std::string, std::set<std::string_view>> values;
  const auto add = [&](std::span<const Option> options) {
    for (const Option& option : options) {
      if (option.is_positional()) continue;
      auto& words = values[fmt::format("--{}", option.key())];
      words.insert(option.words.begin(), option.words.end());
    }
  };
  add(global_options());
  for (const Command& command : commands()) add(command.options);
  const std::vector<std::string_view> algorithms = names_of(searchers());
  const std::vector<std::string_view> of_pruners = names_of(pruners());
  values["--algorithm"].insert(algorithms.begin(), algorithms.end());
  values["--pruner"].insert(of_pruners.begin(), of_pruners.end());
  std::erase_if(values, [](const auto& one) { return one.second.empty(); });
  return values;
}

std::string bash_values() {
  std::string text;
  for (const auto& [option, words] : values_of_options())
    text += fmt::format("    {}) words='{}' ;;\n", option, fmt::join(words, " "));
  return text;
}

bool takes_study(const Command& command) {
  return !command.options.empty() && command.options.front().name == "STUDY";
}

// Returns the first words, joined by `|`, of the commands whose first argument is a study.
std::string commands_of_studies() {
  std::string text;
  for (const Command& command : commands()) {
    if (takes_study(command) && words_of(command).second.empty())
      text += fmt::format("{}{}", text.empty() ? "" : "|", command.name);
  }
  return text;
}

constexpr std::string_view kStudies =
    "detol studies -q -f csv --columns study 2> /dev/null | tail -n +2";

std::string bash_script() {
  return fmt::format(
      "_detol() {{\n  local word=${{COMP_WORDS[COMP_CWORD]}} second= words=\n"
      "  [ \"$COMP_CWORD\" -le 2 ] || second=${{COMP_WORDS[2]}}\n"
      "  case \"${{COMP_WORDS[1]}} $second\" in\n{}  esac\n"
      "  [ \"$COMP_CWORD\" -ne 2 ] || case \"${{COMP_WORDS[1]}}\" in\n"
      "    {}) words=\"$words $({})\" ;;\n  esac\n"
      "  case \"${{COMP_WORDS[COMP_CWORD-1]}}\" in\n{}  esac\n"
      "  [ \"$COMP_CWORD\" -gt 1 ] || words='{} --help --version'\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n}}\n"
      "complete -o default -F _detol detol ./detol\n",
      bash_cases(), commands_of_studies(), kStudies, bash_values(), fmt::join(first_words(), " "));
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
  static const auto all = values_of_options();
  std::string text;
  for (const Option& option : command.options) {
    if (option.is_positional()) continue;
    const auto values = all.find(fmt::format("--{}", option.key()));
    const std::string words = option.is_switch() || values == all.end()
                                  ? ""
                                  : fmt::format(" -f -a '{}'", fmt::join(values->second, " "));
    text += fmt::format("complete -c detol -n '{}' -l {}{}{} -d {}\n",
                        fish_condition(words_of(command)), option.key(),
                        option.is_switch() ? "" : " -r", words, shell_word(option.help));
  }
  if (takes_study(command))
    text += fmt::format("complete -c detol -n '{}' -f -a '({})'\n",
                        fish_condition(words_of(command)), kStudies);
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
  DETOL_TRY(print_data(completion_script(arguments.text("SHELL"))));
  return 0;
}

}  // namespace

std::string completion_script(std::string_view shell) {
  if (shell == "bash") return bash_script();
  return shell == "zsh" ? zsh_script() : fish_script();
}

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
