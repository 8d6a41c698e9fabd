#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/run_options.h"
#include "cli/search_setup.h"
#include "scheduler/pruners/pruner.h"
#include "search/searcher.h"

namespace detol::inline cli {
namespace {

template <typename Row>
std::string table_of(std::string_view title, std::span<const Row> rows) {
  std::string text = fmt::format("{}:\n", title);
  for (const Row& row : rows) text += fmt::format("  {:<26}{}\n", row.name, row.summary);
  return text;
}

std::string search_notes() {
  return table_of("Algorithms", searchers()) + table_of("Pruners", pruners()) +
         "Budgets: 10cpu-min, 2h, 200trials, 5e15flops; a comma joins limits\n";
}

Result<int> run_search_command(const Arguments& arguments) {
  DETOL_ASSIGN(const SearchSetup setup, set_up_search(arguments));
  return run_set_up(setup, arguments);
}

}  // namespace

Command search_command() {
  return {.name = "search",
          .summary = "search a space for the best trained network",
          .options = with_run_options({
              {"--space", "FILE", "the space file, or the name of a ready one such as cnn.yaml",
               Option::kRequired},
              {"--budget", "B", "when the study ends: its total"},
              {"--study", "NAME", "the study's name; default: the file's"},
              {"--algorithm", "NAME", "what proposes trials"},
              {"--pruner", "NAME", "what stops hopeless trials early"},
              {"--seed", "S", "every random choice follows from it"},
              {"--data", "PATH", "where the data is; default: the file's data.path"},
              {"--set", "KEY=VALUE", "change a key of the space file", Option::kRepeated},
              {"--if-exists",
               "WHAT",
               "what if there is a study of that name",
               Option::kOptional,
               {"fail", "resume", "new"}},
              {"--dry-run", "", "check everything, say what would run, create nothing"},
          }),
          .examples =
              "  detol search --space configs/cnn.yaml --budget 10cpu-min\n"
              "  detol search --space cnn --budget 20trials --algorithm random -j 1\n"
              "  detol search --space cnn --set training.epochs=3 --target "
              "'val_accuracy>=0.9'",
          .run = run_search_command,
          .notes = search_notes};
}

}  // namespace detol::inline cli
