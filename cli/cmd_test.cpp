#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/pareto_rows.h"
#include "cli/test_score.h"

namespace detol::inline cli {
namespace {

// Returns the metrics of validation as JSON.
std::string validation_of(const Rows& trials, std::size_t row) {
  const auto* text = std::get_if<std::string>(&cell(trials, row, "values"));
  return text != nullptr ? *text : "{}";
}

Result<int> run_test(const Arguments& arguments) {
  const std::string& storage = arguments.globals.storage;
  DETOL_ASSIGN(const OpenStudy study, open_study(storage, arguments.text("STUDY")));
  const std::string which = arguments.text("trial", "best");
  DETOL_ASSIGN(const Rows trials, which == "pareto" ? pareto_rows(study) : one_trial(study, which));
  TestBench bench(study, storage);
  Rows scores{.columns = {"trial", "model", "epochs", "values", "test", "test_interval"},
              .rows = {}};
  for (std::size_t row = 0; row < trials.rows.size(); ++row) {
    DETOL_ASSIGN(const event::Model model, bench.of_trial(trials, row));
    scores.rows.push_back({static_cast<std::int64_t>(model.trial), model.model, model.epochs,
                           validation_of(trials, row), test_json(model), interval_json(model)});
  }
  const bool is_list = which == "pareto";
  DETOL_TRY(print_data(is_list ? render(scores, arguments.globals)
                               : render_record(scores, arguments.globals)));
  return 0;
}

}  // namespace

Command test_command() {
  return {.name = "test",
          .summary = "show the test metrics of the weights that were scored",
          .options = {{"STUDY", "", "its name (detol studies)", Option::kRequired},
                      {"--trial", "best|ID|pareto", "which; default: best"}},
          .examples =
              "  detol test fashion-cnn\n"
              "  detol test fashion-cnn --trial pareto -f json",
          .run = run_test};
}

}  // namespace detol::inline cli
