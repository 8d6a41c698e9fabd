#include "cli/commands.h"
#include "cli/search_setup.h"

namespace detol::inline cli {
namespace {

Result<int> run_search_command(const Arguments& arguments) {
  DETOL_ASSIGN(const SearchSetup setup, set_up_search(arguments));
  return run_set_up(setup, arguments);
}

}  // namespace

Command search_command() {
  return {.name = "search",
          .summary = "search a space for the best trained network",
          .options = with_study_options({
              {"--space", "FILE", "the space file, or the name of a bundled one, such as cnn",
               Option::kRequired},
              {"--study", "NAME", "the study's name; default: the file's"},
              {"--data", "PATH", "where the data is; default: the file's data.path"},
          }),
          .examples =
              "  detol search --space configs/cnn.yaml --budget 10cpu-min\n"
              "  detol search --space cnn --budget 20trials --algorithm random -j 1\n"
              "  detol search --space cnn --set training.epochs=3 --target 'val_accuracy>=0.9'",
          .run = run_search_command,
          .notes = search_notes};
}

}  // namespace detol::inline cli
