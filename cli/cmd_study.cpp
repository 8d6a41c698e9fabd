// `study rename|copy|delete|stop|budget|tag|note`: operations on a whole study.

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <iostream>
#include <system_error>

#include "cli/commands.h"
#include "core/clock.h"
#include "core/log.h"
#include "core/utf8.h"
#include "knowledge/artefacts.h"
#include "knowledge/query.h"
#include "knowledge/requests.h"
#include "knowledge/storage/writer.h"
#include "knowledge/studies.h"
#include "scheduler/time_limits.h"
#include "studies/labels.h"
#include "studies/open_study.h"
#include "studies/study_requests.h"

namespace detol::inline cli {
namespace {

namespace fs = std::filesystem;

constexpr double kStopPatienceS = 30;

Result<int> print_size(const Arguments& arguments, const std::string& study,
                       const StudySize& size) {
  const Rows rows{.columns = {"study", "trials", "files", "bytes"},
                  .rows = {{study, size.trials, size.files, size.bytes}}};
  return show_record(rows, arguments.globals);
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
    return fail(ErrorCode::kUsage, "there is no terminal to ask on; --yes deletes without asking");
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

// Returns whether the run has ended. Between two masters of one run no process holds the lock, but
// the study is still RUNNING.
Result<bool> is_over(const fs::path& storage, const std::string& study, double quiet_s) {
  if (quiet_s > kRestartS) return true;
  DETOL_ASSIGN(const auto reader, Reader::open(storage));
  DETOL_ASSIGN(const StudyRecord record, reader->study(study));
  return record.state != StudyPhase::kRunning;
}

// Returns true once no process runs the study, false if one still does after kStopPatienceS.
Result<bool> wait_for_the_end(const fs::path& storage, const StudyRecord& study) {
  Clock& clock = system_clock();
  const double began_s = clock.now_s();
  double seen_s = began_s;  // when a process was last seen to run it
  while (clock.now_s() < began_s + kStopPatienceS) {
    DETOL_ASSIGN(const auto runner, runner_of(storage, study));
    if (runner) seen_s = clock.now_s();
    if (!runner) {
      DETOL_ASSIGN(const bool is_done, is_over(storage, study.name, clock.now_s() - seen_s));
      if (is_done) return true;
    }
    ::poll(nullptr, 0, 100);
  }
  return false;
}

// Removes the request, which still exists if no master has read it.
void withdraw(const fs::path& request) {
  std::error_code ignored;
  fs::remove(request, ignored);
  fs::remove(request.parent_path(), ignored);  // if it is empty
}

Result<int> run_stop(const Arguments& arguments) {
  const fs::path storage = arguments.globals.storage;
  const std::string name = arguments.text("NAME");
  StudyRecord study;
  {
    DETOL_ASSIGN(const auto reader, Reader::open(storage));
    DETOL_ASSIGN(study, reader->study(name));
  }
  DETOL_ASSIGN(const auto runner, runner_of(storage, study));
  if (!runner) {
    log_info("nobody runs study {}", name);
    return 0;
  }
  DETOL_ASSIGN(const fs::path request,
               make_request(artefact_folder(storage, name), {RunRequest::kStop}));
  log_info("study {} is run by {}; waiting up to {} s for it to stop", name, to_text(*runner),
           kStopPatienceS);
  DETOL_ASSIGN(const bool is_done, wait_for_the_end(storage, study));
  if (is_done) {
    withdraw(request);
    log_info("study {0} has stopped; resume it with `detol resume {0}`", name);
  } else {
    log_warning("study {} still runs after {} s; the request stands", name, kStopPatienceS);
  }
  return 0;
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
    return fail(ErrorCode::kUsage,
                fmt::format("the search was at its end, and its budget stays {}; `detol resume {} "
                            "--budget {}`",
                            now.budget, now.name, arguments.text("+B")));
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
  if (!arguments.has("WORD")) return fail(ErrorCode::kUsage, "say one tag or more");
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

Command study_rename_command() {
  return {.name = "study rename",
          .summary = "give a study another name",
          .options = {name_option(), {"NEW", "", "its new name", Option::kRequired}},
          .examples = "  detol study rename fashion-cnn fashion-cnn-old",
          .run = run_rename};
}

Command study_copy_command() {
  return {.name = "study copy",
          .summary = "copy a study; the copy resumes exactly as the original would",
          .options = {name_option(), {"NEW", "", "the copy's name", Option::kRequired}},
          .examples =
              "  detol study copy fashion-cnn what-if\n"
              "  detol resume what-if --budget +1cpu-h",
          .run = run_copy};
}

Command study_delete_command() {
  return {.name = "study delete",
          .summary = "delete a study and its files, after asking",
          .options = {name_option(), {"-y,--yes", "", "do not ask; needed where no terminal is"}},
          .examples =
              "  detol study delete what-if\n"
              "  detol study delete --yes -- -x   # a name that begins with '-', of an older detol",
          .run = run_delete};
}

Command study_stop_command() {
  return {.name = "study stop",
          .summary = "ask the search that runs a study to stop, also on another machine",
          .options = {name_option()},
          .examples = "  detol study stop fashion-cnn",
          .run = run_stop};
}

Command study_budget_command() {
  return {.name = "study budget",
          .summary = "add to the budget of a study while it runs",
          .options = {name_option(), {"+B", "", "what is added to the total", Option::kRequired}},
          .examples =
              "  detol study budget fashion-cnn +1cpu-h\n"
              "  detol study budget fashion-cnn +20trials,+1h",
          .run = run_budget};
}

Command study_tag_command() {
  return {.name = "study tag",
          .summary = "put tags on a study, also while it runs, or take them off",
          .options = {name_option(),
                      {"WORD", "", "one or more tags", Option::kRepeated},
                      {"--remove", "", "take them off"}},
          .examples =
              "  detol study tag fashion-cnn paper baseline\n"
              "  detol studies --tag paper",
          .run = run_tag};
}

Command study_note_command() {
  return {.name = "study note",
          .summary = "say something of a study, also while it runs; it replaces what was said",
          .options = {name_option(), {"TEXT", "", "the note; '' removes it", Option::kRequired}},
          .examples = "  detol study note fashion-cnn 'with the new augmentation'",
          .run = run_note};
}

}  // namespace detol::inline cli
