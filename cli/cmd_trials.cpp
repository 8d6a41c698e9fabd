#include <fmt/format.h>

#include "cli/commands.h"
#include "printing/trial_table.h"
#include "studies/best_trial.h"
#include "studies/labels.h"
#include "studies/trial_columns.h"
#include "studies/trial_rows.h"

namespace detol::inline cli {
namespace {

// The columns of the table; the last are left out where a terminal is too narrow.
const std::vector<std::string> kTableColumns = {
    "trial",  "state",          "chosen", "failure",        "reason",    "epochs", "values",
    "params", "network_params", "flops",  "device_seconds", "algorithm", "tags",   "note"};

// Returns the trials that have the tag.
Result<std::vector<TrialId>> tagged(const OpenStudy& study, const std::string& tag) {
  DETOL_ASSIGN(const auto labels, read_labels(*study.reader, study.record));
  std::vector<TrialId> trials;
  for (const auto& [target, one] : labels)
    if (target && one.tags.contains(tag)) trials.push_back(*target);
  return trials;
}

// Adds the column `chosen`, which says of the best trial what it was chosen by; none where values
// decide.
Result<void> mark_chosen(const OpenStudy& study, Rows& rows) {
  DETOL_ASSIGN(const auto chosen, chosen_trial(study));
  if (!chosen) return {};
  rows.columns.emplace_back("chosen");
  for (std::size_t i = 0; i < rows.rows.size(); ++i) {
    const bool is_it = trial_of(rows, i) == chosen->trial;
    rows.rows[i].push_back(is_it ? Cell(chosen->by) : Cell());
  }
  return {};
}

Result<int> list_trials(const Arguments& arguments) {
  DETOL_ASSIGN(const OpenStudy study, open_study_of(arguments));
  TrialFilter filter{.state = arguments.text("state"),
                     .where = arguments.text("where"),
                     .sort = arguments.text("sort")};
  DETOL_ASSIGN(filter.top, arguments.number("top", 1));
  if (arguments.has("tag")) {
    DETOL_ASSIGN(filter.among, tagged(study, arguments.text("tag")));
  }
  if (filter.top && filter.sort.empty()) filter.sort = "value";
  DETOL_ASSIGN(Rows rows, trial_rows(study, filter));
  if (rows.rows.empty())
    return fail(ErrorCode::kEmpty, fmt::format("study {} has no such trial", study.record.name));
  DETOL_TRY(mark_chosen(study, rows));
  const bool is_table = arguments.globals.format == Format::kTable;
  const bool has_all = !is_table || !arguments.globals.columns.empty();
  if (has_all) DETOL_TRY(add_architecture(study, rows));
  const Format labels = has_all && is_table ? Format::kCsv : arguments.globals.format;
  DETOL_TRY(add_labels(study, labels, rows));
  std::vector<std::string> columns = kTableColumns;
  if (filter.state != to_text(TrialState::kFail)) std::erase(columns, "reason");
  const Rows shown = has_all ? std::move(rows) : trial_table_of(rows, columns);
  return show(shown, arguments.globals);
}

}  // namespace

Command trials_command() {
  return {
      .name = "trials",
      .summary = "list a study's trials",
      .options = {{"STUDY", "", "its name; default: the newest study"},
                  one_of("--state", "STATE", "only those in that state; default: all",
                         {kTrialStates.begin(), kTrialStates.end()}),
                  {"--tag", "WORD", "only those with that tag (detol trial --tag); default: all"},
                  {"--where", "EXPR",
                   "only those for which this SQL expression holds; default: all"},
                  {"--sort", "METRIC",
                   "a metric, best first; a parameter, or a metric of unknown direction, smallest "
                   "first; default: by number; with --top best first"},
                  {"--top", "N",
                   "only the first N, best first unless sorted otherwise; default: all"}},
      .examples =
          "  detol trials fashion-cnn --top 10\n"
          "  detol trials fashion-cnn --state PRUNED --sort epochs\n"
          "  detol trials fashion-cnn --columns trial,value,lr\n"
          "  detol trials fashion-cnn --where 'lr < 0.01 AND params < 1e5' -f csv",
      .run = list_trials};
}

}  // namespace detol::inline cli
