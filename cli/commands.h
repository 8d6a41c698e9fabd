#pragma once

// The commands of `detol` (command_line/command.h). A new command is one cmd_*.cpp and one row in
// commands.cpp.

#include "command_line/command.h"
#include "command_line/parse.h"
#include "printing/output.h"
#include "studies/open_study.h"

namespace detol::inline cli {

// Returns all of them, and the options that every command accepts.
const CommandTable& command_table();

// Runs the command of a call. Its mistakes are told in the words of the command line (settings.h).
Result<int> run_call(const Call& call);

// Parses `words`, argv without the program's name. Applies DETOL_STORAGE and sets up the log.
// Errors (kUsage): one line, with a did-you-mean.
Result<Call> parse(const std::vector<std::string>& words);

// Opens the study that the argument STUDY names, or else the newest. Errors: as open_study.
Result<OpenStudy> open_study_of(const Arguments& arguments);

// Print rows, one row or a text, and return 0. Errors: the given one; as print_rows.
Result<int> show(const Rows& rows, const Globals& globals);
Result<int> show(const Result<Rows>& rows, const Globals& globals);
Result<int> show_record(const Result<Rows>& record, const Globals& globals);
Result<int> show(const std::string& text);

// Returns the script that completes detol's words in a shell. REQUIRES: bash, zsh or fish.
std::string completion_script(std::string_view shell);

// The commands of each cmd_*.cpp.
Command search_command();
Command tune_command();
std::vector<Command> ask_commands();
Command explore_command();
Command resume_command();
Command simulate_command();
Command worker_command();
Command slurm_command();
Command new_command();
Command validate_command();
Command schema_command();
std::vector<Command> status_commands();
std::vector<Command> study_commands();
Command trials_command();
Command trial_command();
Command best_command();
Command pareto_command();
Command importance_command();
Command compare_command();
Command similar_command();
Command report_command();
Command plot_command();
Command dashboard_command();
Command query_command();
Command test_command();
Command retrain_command();
Command prune_command();
Command quantize_command();
Command landscape_command();
Command ensemble_command();
Command export_command();
Command predict_command();
std::vector<Command> db_commands();
std::vector<Command> db_exchange_commands();
std::vector<Command> data_commands();
Command doctor_command();
Command bench_command();
Command completion_command();
Command man_command();

}  // namespace detol::inline cli
