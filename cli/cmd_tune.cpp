#include <algorithm>
#include <filesystem>

#include "cli/commands.h"
#include "cli/search_setup.h"
#include "cli/settings.h"

namespace detol::inline cli {
namespace {

// Returns "train" for python train.py: the last part of the name of the first script, or else of
// the program.
std::string study_name(const std::vector<std::string>& command) {
  const auto is_script = [](const std::string& word) {
    const std::string ending = std::filesystem::path(word).extension().string();
    return !word.starts_with('-') && ending.size() > 1 && word.find('{') == std::string::npos;
  };
  const auto script = std::ranges::find_if(command, is_script);
  const std::string& word = script != command.end() ? *script : command.front();
  std::string name = std::filesystem::path(word).stem().string();
  return is_study_name(name) ? name : "tune";
}

Result<StudyConfig> config_from(const Arguments& arguments) {
  const std::vector<std::string> command = arguments.all("COMMAND");
  if (command.empty() && arguments.has("param") && arguments.has("metric"))
    return usage_error(
        "the program is missing; put it behind --, as in -- python train.py --lr {{lr}}");
  return config_from_flags(arguments, command, command.empty() ? "" : study_name(command));
}

Result<int> run_tune(const Arguments& arguments) {
  DETOL_ASSIGN(const SearchSetup setup,
               set_up_search(arguments, [&] { return config_from(arguments); }));
  return run_set_up(setup, arguments);
}

}  // namespace

Command tune_command() {
  return {.name = "tune",
          .summary = "search the best parameters of a program",
          .options = with_study_options(with_space_options({
              {"COMMAND", "WORD...",
               "behind --: the program and its arguments; {lr} stands for a value"},
              {"--study", "NAME", "the study's name; default: that of the script or program"},
          })),
          .examples =
              "  detol tune --metric val_loss:minimize --param 'lr=log(1e-5,1e-1)' --budget "
              "50trials -- python train.py --lr {lr}\n"
              "  detol tune --space mlp.yaml --budget 2h -j 4",
          .run = run_tune,
          .notes = search_notes};
}

}  // namespace detol::inline cli
