#pragma once

// SearchSetup: what `detol search` runs, checked before anything is created. `detol explore` runs
// one for each data set.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "command_line/command.h"
#include "knowledge/query.h"
#include "scheduler/run/preflight.h"
#include "scheduler/run/study_run.h"

namespace detol::inline cli {

struct SearchSetup {
  RunOptions options;  // for run_search()
  Preflight preflight;
};

// Returns `own` followed by the options of every command that begins a study, and their notes.
std::vector<Option> with_study_options(std::vector<Option> own);
std::string search_notes();

// Returns what --if-exists says; `otherwise` where it is not given.
IfExists if_exists_from(const Arguments& arguments, const std::string& otherwise);

// Reads the arguments of `detol search`, checks the study and chooses the device. Errors: kUsage
// and kInput, in the words of the command line; kSetup where the device cannot be had.
Result<SearchSetup> set_up_search(const Arguments& arguments);

// Does the same for a study that `read` reads.
Result<SearchSetup> set_up_search(const Arguments& arguments,
                                  const std::function<Result<StudyConfig>()>& read);

// Refuses a new total below what the study has used, unless it is the total in force. Work is not
// looked at. Errors (kUsage).
Result<void> check_total(Reader& reader, const StudyRecord& record, const BudgetChange& change);

// Checks that the study has trials to run: not those of callers. Errors (kUsage).
Result<void> is_run_by_detol(const StudyConfig& config);

// Runs the search to its end, or with --dry-run says what would run. Returns the exit code.
Result<int> run_set_up(const SearchSetup& setup, const Arguments& arguments);

}  // namespace detol::inline cli
