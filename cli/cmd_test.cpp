#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/model_network.h"
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

void add_row(const event::Model& model, std::string values, Rows& scores) {
  scores.rows.push_back({static_cast<std::int64_t>(model.trial), model.model, model.epochs,
                         std::move(values), test_json(model), interval_json(model)});
}

// Adds what was measured when the model was made.
Result<void> add_model(const OpenStudy& study, const std::string& number, Rows& scores) {
  DETOL_ASSIGN(const event::Model model, model_called(study, number));
  DETOL_TRY(check_is_complete(study, model));
  add_row(model, values_json(model), scores);
  return {};
}

Result<int> run_test(const Arguments& arguments) {
  DETOL_TRY(check_one_is_chosen(arguments));
  const std::string& storage = arguments.globals.storage;
  DETOL_ASSIGN(const OpenStudy study, open_study(storage, arguments.text("STUDY")));
  Rows scores{.columns = {"trial", "model", "epochs", "values", "test", "test_interval"},
              .rows = {}};
  const std::string which = arguments.text("trial", "best");
  if (arguments.has("model")) {
    DETOL_TRY(add_model(study, arguments.text("model"), scores));
  } else {
    DETOL_ASSIGN(const Rows trials,
                 which == "pareto" ? pareto_rows(study) : one_trial(study, which));
    TestBench bench(study, storage);
    for (std::size_t row = 0; row < trials.rows.size(); ++row) {
      DETOL_ASSIGN(const event::Model model, bench.of_trial(trials, row));
      add_row(model, validation_of(trials, row), scores);
    }
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
                      {"--trial", "best|ID|pareto", "which; default: best"},
                      {"--model", "N", "a model (v_models) instead of a trial"}},
          .examples =
              "  detol test fashion-cnn\n"
              "  detol test fashion-cnn --trial pareto -f json\n"
              "  detol test fashion-cnn --model 3",
          .run = run_test};
}

}  // namespace detol::inline cli
