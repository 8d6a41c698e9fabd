#include "cli/commands.h"
#include "studies/best_trial.h"
#include "studies/labels.h"
#include "studies/study_requests.h"
#include "studies/trial_columns.h"
#include "studies/trial_views.h"

namespace detol::inline cli {
namespace {

// Records what the arguments say of the trial. On a network file system one process opens the file
// once, so that the reader makes room meanwhile.
Result<void> label(const Arguments& arguments, OpenStudy& study, TrialId trial) {
  const LabelChange change{.target = trial,
                           .tags = arguments.all("tag"),
                           .removes_tags = arguments.has("remove"),
                           .note = arguments.maybe("note")};
  if (change.removes_tags && change.tags.empty())
    return usage_error("--remove takes off what --tag says; --note '' removes a note");
  if (change.tags.empty() && !change.note) return {};
  study.reader.reset();
  DETOL_TRY(change_labels(arguments.globals.storage, study.record, change));
  DETOL_ASSIGN(study.reader, Reader::open(arguments.globals.storage));
  return {};
}

// Asks whoever runs the study to prune the trial or to retry it, and reads what became of it.
Result<void> request(const Arguments& arguments, const OpenStudy& study, TrialSummary& trial) {
  if (!arguments.has("prune") && !arguments.has("retry")) return {};
  if (arguments.has("prune") && arguments.has("retry"))
    return usage_error("say --prune or --retry");
  const RunRequest::Kind kind = arguments.has("prune") ? RunRequest::kPrune : RunRequest::kRetry;
  DETOL_TRY(ask_runner_and_wait(arguments.globals.storage, study, {kind, trial.id}));
  DETOL_ASSIGN(trial, trial_numbered(study, trial.id));
  return {};
}

Result<int> show_trial(const Arguments& arguments) {
  DETOL_ASSIGN(OpenStudy study, open_study_of(arguments));
  DETOL_ASSIGN(TrialSummary trial, trial_called(study, arguments.text("ID")));
  DETOL_TRY(request(arguments, study, trial));
  DETOL_TRY(label(arguments, study, trial.id));
  const Globals& globals = arguments.globals;
  if (arguments.has("arch")) return show(network_rows(study, trial), globals);
  if (arguments.has("curve")) return show(curve_rows(study, trial.id), globals);
  if (arguments.has("log")) return show(history_rows(study, trial.id), globals);
  if (arguments.has("why")) return show_record(reason_row(study, trial), globals);
  DETOL_ASSIGN(Rows rows, rows_of(study, {trial}));
  DETOL_TRY(add_architecture(study, rows));
  DETOL_ASSIGN(const auto parent, inherited_by(study, trial.id));
  if (parent)
    insert_column("inherits", rows.columns.back(), {static_cast<std::int64_t>(*parent)}, rows);
  DETOL_TRY(add_labels(study, globals.format, rows));
  return show_record(rows, globals);
}

}  // namespace

Command trial_command() {
  return {.name = "trial",
          .summary = "show one trial: its choices and scores, layers, curve or history",
          .options = {{"STUDY", "", "its name (detol studies)", Option::kRequired},
                      {"ID", "", "the trial's number, or best", Option::kRequired},
                      {"--arch", "", "its network, a layer a line, and what it inherited"},
                      {"--curve", "", "its metrics, an epoch a line"},
                      {"--log", "", "what happened to it, an event a line"},
                      {"--why", "", "who proposed it, and what a model predicted then"},
                      {"--prune", "", "ends it, while it runs, with what it has reported"},
                      {"--retry", "", "trains it again, if it crashed and the search runs"},
                      {"--tag", "WORD", "puts a tag on it, also while it runs", Option::kRepeated},
                      {"--remove", "", "takes the tags off instead"},
                      {"--note", "TEXT", "replaces its note; '' removes it"}},
          .examples =
              "  detol trial fashion-cnn best --arch\n"
              "  detol trial fashion-cnn 12 --curve -f csv\n"
              "  detol trial fashion-cnn 12 --why\n"
              "  detol trial fashion-cnn 12 --prune\n"
              "  detol trial fashion-cnn 12 --tag keep --note 'flat after epoch 5'",
          .run = show_trial};
}

}  // namespace detol::inline cli
