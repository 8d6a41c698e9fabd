#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/search_setup.h"
#include "cli/settings.h"
#include "cli/tuned_space.h"

namespace detol::inline cli {
namespace {

constexpr std::string_view kFlags = "the command line";  // the source of the space

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

// Leaves out the place in the text that was made of the flags.
Error of_flags(Error error) {
  const std::size_t end = error.message.find(": ");
  if (!error.message.starts_with(kFlags) || end == std::string::npos) return error;
  return {ErrorCode::kUsage, error.message.substr(end + 2)};
}

Result<StudyConfig> config_from(const Arguments& arguments) {
  const std::vector<std::string> command = arguments.all("COMMAND");
  if (arguments.has("space")) {
    if (!command.empty() || arguments.has("param") || arguments.has("metric"))
      return fail(ErrorCode::kUsage,
                  "--space has the command, its parameters and its metrics; leave out what is said "
                  "twice, or --space");
    return read_space(arguments);
  }
  for (const char* needed : {"param", "metric"}) {
    if (!arguments.has(needed))
      return fail(ErrorCode::kUsage,
                  fmt::format("--{} is missing; or name a space file with --space", needed));
  }
  if (command.empty())
    return fail(ErrorCode::kUsage,
                "the program is missing; put it behind --, as in -- python train.py --lr {lr}");
  DETOL_ASSIGN(const std::string space, space_of({.study = study_name(command),
                                                  .command = command,
                                                  .parameters = arguments.all("param"),
                                                  .metrics = arguments.all("metric"),
                                                  .steps = arguments.text("steps")}));
  DETOL_ASSIGN(const auto overrides, overrides_from(arguments));
  return read_study_text(space, kFlags, overrides).map_error(of_flags);
}

Result<int> run_tune(const Arguments& arguments) {
  DETOL_ASSIGN(const SearchSetup setup,
               set_up_search(arguments, [&] { return config_from(arguments); }));
  return run_set_up(setup, arguments);
}

}  // namespace

Command tune_command() {
  return {
      .name = "tune",
      .summary = "search the best parameters of a program",
      .options = with_study_options({
          {"COMMAND", "WORD...",
           "behind --: the program and its arguments; {lr} stands for a value"},
          {"--space", "FILE", "a space file with `command`, instead of the next three"},
          {"--param", "NAME=RANGE", "such as lr=log(1e-5,1e-1), n=int(1,8), opt=choice(sgd,adam)",
           Option::kRepeated},
          {"--metric", "NAME:minimize", "what it reports; or NAME:maximize", Option::kRepeated},
          {"--steps", "N", "the steps of a whole trial, as it reports them; default: to its end"},
          {"--study", "NAME", "the study's name; default: that of the script or program"},
      }),
      .examples =
          "  detol tune --metric val_loss:minimize --param 'lr=log(1e-5,1e-1)' --budget 50trials "
          "-- python train.py --lr {lr}\n"
          "  detol tune --space mlp.yaml --budget 2h -j 4",
      .run = run_tune,
      .notes = search_notes};
}

}  // namespace detol::inline cli
