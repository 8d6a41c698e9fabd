#include "cli/commands.h"
#include "printing/trial_table.h"
#include "studies/best_trial.h"
#include "studies/trial_columns.h"

namespace detol::inline cli {
namespace {

Result<int> run_pareto(const Arguments& arguments) {
  DETOL_ASSIGN(const OpenStudy study, open_study_of(arguments));
  DETOL_ASSIGN(const auto front, pareto_trials(study));
  DETOL_ASSIGN(Rows rows, rows_of(study, front));
  DETOL_TRY(add_architecture(study, rows));
  if (arguments.globals.format == Format::kTable && arguments.globals.columns.empty())
    rows = trial_table_of(
        rows, {"trial", "state", "epochs", "values", "params", "network_params", "flops"});
  return show(rows, arguments.globals);
}

}  // namespace

Command pareto_command() {
  return {.name = "pareto",
          .summary = "show the Pareto front: trials that no other beats in every objective",
          .options = {{"STUDY", "", "its name; default: the newest study"}},
          .examples =
              "  detol pareto fashion-cnn\n"
              "  detol pareto fashion-cnn -f csv",
          .run = run_pareto};
}

}  // namespace detol::inline cli
