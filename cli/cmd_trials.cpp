#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/trial_rows.h"

namespace detol::inline cli {
namespace {

// The columns of the table, which fit on a screen.
const std::vector<std::string> kTableColumns = {"trial",          "state",          "epochs",
                                                "values",         "network_params", "flops",
                                                "device_seconds", "algorithm",      "failure"};

Result<int> list_trials(const Arguments& arguments) {
  DETOL_ASSIGN(const OpenStudy study,
               open_study(arguments.globals.storage, arguments.text("STUDY")));
  TrialFilter filter{.state = arguments.text("state"),
                     .where = arguments.text("where"),
                     .sort = arguments.text("sort")};
  DETOL_ASSIGN(filter.top, arguments.number("top", 1));
  if (filter.top && filter.sort.empty()) filter.sort = "value";
  DETOL_ASSIGN(Rows rows, trial_rows(study, filter));
  if (rows.rows.empty())
    return fail(ErrorCode::kEmpty, fmt::format("study {} has no such trial", study.record.name));
  if (arguments.globals.format == Format::kTable) {
    rows = only_columns(rows, kTableColumns);
  } else {
    DETOL_TRY(add_architecture(study, rows));
  }
  DETOL_TRY(print_data(render(rows, arguments.globals)));
  return 0;
}

}  // namespace

Command trials_command() {
  return {.name = "trials",
          .summary = "list a study's trials",
          .options = {{"STUDY", "", "its name (detol studies)", Option::kRequired},
                      {"--state",
                       "STATE",
                       "only those in that state",
                       Option::kOptional,
                       {kTrialStates.begin(), kTrialStates.end()}},
                      {"--where", "EXPR", "only those for which this SQL expression holds"},
                      {"--sort", "METRIC", "an objective: best first; any other: smallest first"},
                      {"--top", "N", "only the first N; best first unless sorted otherwise"}},
          .examples =
              "  detol trials fashion-cnn --top 10\n"
              "  detol trials fashion-cnn --state PRUNED --sort epochs\n"
              "  detol trials fashion-cnn --where 'lr < 0.01 AND params < 1e5' -f csv",
          .run = list_trials};
}

}  // namespace detol::inline cli
