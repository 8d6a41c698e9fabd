#include <fmt/format.h>

#include <array>

#include "cli/commands.h"
#include "command_line/completion.h"
#include "core/table.h"
#include "encodings/study/ready_spaces.h"
#include "scheduler/pruners/pruner.h"
#include "search/searcher.h"

namespace detol::inline cli {
namespace {

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

Result<int> run_completion(const Arguments& arguments) {
  return show(completion_script(arguments.text("SHELL")));
}

}  // namespace

// bash splits words at '=' and ':', so that the kind of a parameter and a direction stand alone.
std::string completion_script(std::string_view shell) {
  return completion_script(
      command_table(), shell,
      {.studies = "detol studies -q -f csv --columns study 2> /dev/null | tail -n +2",
       .values = values_of,
       .bash_values = bash_values_of,
       .bash_cases = fmt::format("    tune\\ *' ='|ask\\ *' =') words='{}' ;;\n"
                                 "    tune\\ *' :'|ask\\ *' :') words='minimize maximize' ;;\n",
                                 fmt::join(kKinds, " "))});
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
