#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/devices.h"
#include "cli/output.h"
#include "cli/preflight.h"
#include "cli/run_options.h"
#include "cli/settings.h"
#include "knowledge/studies.h"
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

IfExists if_exists_from(const Arguments& arguments) {
  const std::string word = arguments.text("if-exists", "fail");
  if (word == "resume") return IfExists::kResume;
  return word == "new" ? IfExists::kNew : IfExists::kFail;
}

Rows summary_of(const StudyConfig& config, const Preflight& preflight, const RunOptions& options) {
  return {
      .columns = {"study", "algorithm", "pruner", "budget", "device", "workers", "storage",
                  "choices", "space_size", "training_images", "validation_images"},
      .rows = {{config.study, config.algorithm.name, config.pruner.name, to_text(preflight.budget),
                device_name(options),
                options.workers <= 0 ? std::string("auto") : std::to_string(options.workers),
                options.storage.string(), static_cast<std::int64_t>(config.space.size()),
                config.space.cardinality(), preflight.data.training, preflight.data.validation}}};
}

// Returns the backend of the study that is resumed; empty: it is new, or was never run.
std::string previous_backend(const RunOptions& options) {
  if (options.if_exists != IfExists::kResume) return {};
  return last_backend(options.storage, options.config.study).value_or("");
}

Result<int> search(const Arguments& arguments) {
  DETOL_ASSIGN(RunOptions options, run_options_from(arguments));
  DETOL_ASSIGN(options.config, read_space(arguments));
  options.if_exists = if_exists_from(arguments);
  if (options.if_exists != IfExists::kResume) DETOL_TRY(check_new_name(options.config.study));
  DETOL_TRY(check_target(options));
  DETOL_ASSIGN(const Preflight preflight, check_study(options.config));
  DETOL_TRY(choose_device({.device = arguments.text("device", "auto"),
                           .budget = preflight.budget,
                           .previous_backend = previous_backend(options),
                           .data = preflight.data},
                          options));
  if (!arguments.has("dry-run")) return run_search(options);
  DETOL_TRY(
      print_data(render_record(summary_of(options.config, preflight, options), arguments.globals)));
  return 0;
}

Result<int> run_search_command(const Arguments& arguments) {
  return search(arguments).map_error(
      [&](Error error) { return as_written(std::move(error), arguments); });
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
