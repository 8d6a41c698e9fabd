#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cli/commands.h"
#include "cli/completion.h"
#include "cli/output.h"
#include "cli/settings.h"
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

constexpr std::string_view kStudies =
    "detol studies -q -f csv --columns study 2> /dev/null | tail -n +2";

// Prints what the trials of the study have, as the second word of the line names it.
constexpr std::string_view kColumnsOfTrials =
    "$(detol trials ${study:+\"$study\"} -q -f csv --top 1 2> /dev/null | head -n 1 | tr , ' ' | "
    "sed 's/params\\.//g; s/values\\.//g')";

// What a parameter of --param can be.
constexpr std::array<std::string_view, 7> kKinds = {"float",  "log",     "int", "logint",
                                                    "choice", "ordered", "bool"};

// Returns the words that may be the value of an option; empty: any text, or a file.
std::string values_of(const Option& option) {
  const std::string_view key = option.key();
  std::vector<std::string_view> words = option.words;
  if (key == "algorithm") words = names_of(searchers());
  if (key == "pruner") words = names_of(pruners());
  if (key == "space") return fmt::format("{}", fmt::join(space_names(), " "));
  return fmt::format("{}", fmt::join(words, " "));
}

// Returns the same for bash, which may ask the study, and looks for files.
std::string bash_values_of(const Command& command, const Option& option) {
  const std::string_view key = option.key();
  const bool lists_trials = command.name == "trials" || command.name == "best";
  if (lists_trials && (key == "sort" || key == "columns"))
    return fmt::format("\"{}\"", kColumnsOfTrials);
  if (key == "metric" && option.arity == Option::kRepeated)
    return "\"${word%%:*}:minimize ${word%%:*}:maximize\"";
  if (key == "param") {
    std::string words;
    for (const std::string_view kind : kKinds) words += fmt::format(" ${{word%%=*}}={}", kind);
    return fmt::format("\"{}\"", words);
  }
  if (key == "space") return fmt::format("\"{} $(compgen -f -- \"$word\")\"", values_of(option));
  return fmt::format("'{}'", values_of(option));
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
std::string bash_values() {
  std::string text;
  const auto add = [&text](const Command* command, std::span<const Option> options) {
    for (const Option& option : options) {
      if (option.is_positional() || option.is_switch()) continue;
      const std::string words = command != nullptr ? bash_values_of(*command, option)
                                                   : fmt::format("'{}'", values_of(option));
      text += fmt::format("    {}) words={} ;;\n", patterns_of(command, option), words);
    }
  };
  for (const Command& command : commands()) {
    add(&command, command.options);
    const auto global = std::ranges::find(global_options(), "columns", &Option::key);
    if (command.name == "trials" || command.name == "best") add(&command, std::span(&*global, 1));
  }
  add(nullptr, global_options());
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

// `line` is the command with the word before the one that is completed; bash splits words at
// '=' and ':', so that the kind of a parameter and a direction stand alone.
std::string bash_script() {
  return fmt::format(
      "_detol() {{\n  local word=${{COMP_WORDS[COMP_CWORD]}} second= words= study= line=\n"
      "  [ \"$COMP_CWORD\" -le 2 ] || second=${{COMP_WORDS[2]}}\n"
      "  case $second in -*) ;; *) study=$second ;; esac\n"
      "  case \"${{COMP_WORDS[1]}} $second\" in\n{}  esac\n"
      "  [ \"$COMP_CWORD\" -ne 2 ] || case \"${{COMP_WORDS[1]}}\" in\n"
      "    {}) words=\"$words $({})\" ;;\n  esac\n"
      "  line=\"${{COMP_WORDS[1]}} $second ${{COMP_WORDS[COMP_CWORD-1]}}\"\n"
      "  [ \"$COMP_CWORD\" -le 2 ] || case \"$line\" in\n{}"
      "    tune\\ *' ='|ask\\ *' =') words='{}' ;;\n"
      "    tune\\ *' :'|ask\\ *' :') words='minimize maximize' ;;\n  esac\n"
      "  [ \"$COMP_CWORD\" -gt 1 ] || words='{} --help --version'\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n}}\n"
      "complete -o default -F _detol detol ./detol\n",
      bash_cases(), commands_of_studies(), kStudies, bash_values(), fmt::join(kKinds, " "),
      fmt::join(first_words(), " "));
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
    const std::string values = option.is_switch() ? "" : values_of(option);
    const std::string_view no_files = option.key() == "space" ? "" : " -f";
    const std::string words = values.empty() ? "" : fmt::format("{} -a '{}'", no_files, values);
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
