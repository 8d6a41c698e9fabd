#include <fmt/format.h>

#include <algorithm>

#include "cli/commands.h"
#include "cli/final_choice.h"
#include "cli/labels.h"
#include "cli/model_rows.h"
#include "cli/output.h"
#include "cli/trial_rows.h"

namespace detol::inline cli {
namespace {

Result<Rows> best_rows(const OpenStudy& study, std::int64_t count) {
  DETOL_ASSIGN(
      Rows rows,
      trial_rows(study,
                 {.sort = "value", .top = count, .only_scored = true, .only_feasible = true}));
  if (rows.rows.empty()) return no_best_trial(study);
  return rows;
}

Result<int> run_best(const Arguments& arguments) {
  DETOL_ASSIGN(const OpenStudy study,
               open_study(arguments.globals.storage, arguments.text("STUDY")));
  DETOL_ASSIGN(const auto top, arguments.number("top", 1));
  DETOL_ASSIGN(Rows rows, top ? best_rows(study, *top) : one_trial(study, "best"));
  DETOL_TRY(add_architecture(study, rows));
  DETOL_TRY(add_test_scores(study, rows));
  DETOL_TRY(add_cross_validation(study, rows));
  if (!top) {
    DETOL_TRY(add_labels(study, arguments.globals.format, rows));
    DETOL_TRY(print_data(render_record(rows, arguments.globals)));
    return 0;
  }
  if (arguments.globals.format == Format::kTable) {
    std::vector<std::string> shown = {"trial", "state", "epochs", "values"};
    for (const char* known : {"cross_validation", "test"}) {
      if (std::ranges::find(rows.columns, known) != rows.columns.end()) shown.emplace_back(known);
    }
    shown.insert(shown.end(), {"network_params", "flops", "params"});
    rows = only_columns(rows, shown);
  }
  DETOL_TRY(print_data(render(rows, arguments.globals)));
  return 0;
}

}  // namespace

Command best_command() {
  return {.name = "best",
          .summary = "show the best trial of a study, or the best N",
          .options = {{"STUDY", "", "its name; default: the newest study"},
                      {"--top", "N",
                       "the best N, as a list; default: the best, with all that is known of it"}},
          .examples =
              "  detol best fashion-cnn\n"
              "  detol best fashion-cnn --top 5 -f json",
          .run = run_best};
}

}  // namespace detol::inline cli
