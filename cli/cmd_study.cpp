// `study rename|copy|delete|stop|budget|tag|note`: operations on a whole study.

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>

#include "cli/commands.h"
#include "core/log.h"
#include "core/utf8.h"
#include "knowledge/studies.h"
#include "studies/labels.h"
#include "studies/open_study.h"
#include "studies/study_requests.h"

namespace detol::inline cli {
namespace {

Result<int> print_size(const Arguments& arguments, const std::string& study,
                       const StudySize& size) {
  return show_record(Rows{.columns = {"study", "trials", "files", "bytes"},
                          .rows = {{study, size.trials, size.files, size.bytes}}},
                     arguments.globals);
}

Result<int> run_rename(const Arguments& arguments) {
  const std::string name = arguments.text("NAME"), fresh = arguments.text("NEW");
  DETOL_TRY(rename_study(arguments.globals.storage, name, fresh));
  log_info("study {} is called {} now", name, fresh);
  return 0;
}

Result<int> run_copy(const Arguments& arguments) {
  const std::string fresh = arguments.text("NEW");
  DETOL_ASSIGN(const StudySize size,
               copy_study(arguments.globals.storage, arguments.text("NAME"), fresh));
  log_info("copied to {}:", fresh);
  return print_size(arguments, fresh, size);
}

// Asks the user at the terminal whether to delete the study. Errors (kUsage): there is no terminal.
Result<bool> is_confirmed(const std::string& name, const StudySize& size) {
  if (::isatty(STDIN_FILENO) == 0 || ::isatty(STDERR_FILENO) == 0)
    return usage_error("there is no terminal to ask on; --yes deletes without asking");
  fmt::print(stderr, "delete study {}: {} trials, {} files of {} bytes? [y/N] ", printable(name),
             size.trials, size.files, size.bytes);
  std::fflush(stderr);
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "y" || answer == "Y" || answer == "yes";
}

Result<int> run_delete(const Arguments& arguments) {
  const std::string name = arguments.text("NAME");
  if (!arguments.has("yes")) {
    DETOL_ASSIGN(const StudySize size, measure_study(arguments.globals.storage, name));
    DETOL_ASSIGN(const bool is_wanted, is_confirmed(name, size));
    if (!is_wanted) return fail(ErrorCode::kInterrupted, "nothing was deleted");
  }
  DETOL_ASSIGN(const StudySize size, delete_study(arguments.globals.storage, name));
  log_info("deleted:");
  return print_size(arguments, name, size);
}

Result<int> run_stop(const Arguments& arguments) {
  return stop_study(arguments.globals.storage, arguments.text("NAME")).map([] { return 0; });
}

Result<int> run_budget(const Arguments& arguments) {
  const std::string& storage = arguments.globals.storage;
  DETOL_ASSIGN(const OpenStudy study, open_study(storage, arguments.text("NAME")));
  DETOL_ASSIGN(const bool is_done,
               ask_runner_and_wait(storage, study,
                                   {.kind = RunRequest::kBudget, .budget = arguments.text("+B")}));
  if (!is_done) return 0;
  DETOL_ASSIGN(const StudyRecord now, study.reader->study(study.record.name));
  if (now.budget == study.record.budget)
    return usage_error(
        "the search was at its end, and its budget stays {}; `detol resume {} --budget {}`",
        now.budget, now.name, arguments.text("+B"));
  log_info("the budget of study {} is {} now", now.name, now.budget);
  return 0;
}

Result<int> label_study(const Arguments& arguments, const LabelChange& change) {
  DETOL_ASSIGN(OpenStudy study, open_study(arguments.globals.storage, arguments.text("NAME")));
  study.reader.reset();  // on a network file system one process opens the file once
  DETOL_TRY(change_labels(arguments.globals.storage, study.record, change));
  return 0;
}

Result<int> run_tag(const Arguments& arguments) {
  if (!arguments.has("WORD")) return usage_error("say one tag or more");
  return label_study(arguments,
                     {.tags = arguments.all("WORD"), .removes_tags = arguments.has("remove")});
}

Result<int> run_note(const Arguments& arguments) {
  return label_study(arguments, {.note = arguments.text("TEXT")});
}

Option name_option() {
  return {"NAME", "", "the study (detol studies)", Option::kRequired};
}

}  // namespace

std::vector<Command> study_commands() {
  return {
      {.name = "study rename",
       .summary = "give a study another name",
       .options = {name_option(), {"NEW", "", "its new name", Option::kRequired}},
       .examples = "  detol study rename fashion-cnn fashion-cnn-old",
       .run = run_rename},
      {.name = "study copy",
       .summary = "copy a study; the copy resumes exactly as the original would",
       .options = {name_option(), {"NEW", "", "the copy's name", Option::kRequired}},
       .examples = "  detol study copy fashion-cnn what-if\n"
                   "  detol resume what-if --budget +1cpu-h",
       .run = run_copy},
      {.name = "study delete",
       .summary = "delete a study and its files, after asking",
       .options = {name_option(), {"-y,--yes", "", "do not ask; needed where no terminal is"}},
       .examples =
           "  detol study delete what-if\n"
           "  detol study delete --yes -- -x   # a name that begins with '-', of an older detol",
       .run = run_delete},
      {.name = "study stop",
       .summary = "ask the search that runs a study to stop, also on another machine",
       .options = {name_option()},
       .examples = "  detol study stop fashion-cnn",
       .run = run_stop},
      {.name = "study budget",
       .summary = "add to the budget of a study while it runs",
       .options = {name_option(), {"+B", "", "what is added to the total", Option::kRequired}},
       .examples = "  detol study budget fashion-cnn +1cpu-h\n"
                   "  detol study budget fashion-cnn +20trials,+1h",
       .run = run_budget},
      {.name = "study tag",
       .summary = "put tags on a study, also while it runs, or take them off",
       .options = {name_option(),
                   {"WORD", "", "one or more tags", Option::kRepeated},
                   {"--remove", "", "take them off"}},
       .examples = "  detol study tag fashion-cnn paper baseline\n"
                   "  detol studies --tag paper",
       .run = run_tag},
      {.name = "study note",
       .summary = "say something of a study, also while it runs; it replaces what was said",
       .options = {name_option(), {"TEXT", "", "the note; '' removes it", Option::kRequired}},
       .examples = "  detol study note fashion-cnn 'with the new augmentation'",
       .run = run_note}};
}

}  // namespace detol::inline cli
