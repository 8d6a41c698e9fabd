#pragma once

// The commands of `detol` (command_line/command.h). A new command is one cmd_*.cpp and one row in
// commands.cpp.

#include "command_line/command.h"
#include "command_line/parse.h"
#include "printing/output.h"

namespace detol::inline cli {

// Returns all of them, and the options that every command accepts.
const CommandTable& command_table();

// Parses `words`, argv without the program's name. Applies DETOL_STORAGE and sets up the log.
// Errors (kUsage): one line, with a did-you-mean.
Result<Call> parse(const std::vector<std::string>& words);

// Print rows, one row or a text, and return 0. Errors: the given one; as print_rows.
Result<int> show(const Rows& rows, const Globals& globals);
Result<int> show(const Result<Rows>& rows, const Globals& globals);
Result<int> show_record(const Result<Rows>& record, const Globals& globals);
Result<int> show(const std::string& text);

// Returns the script that completes detol's words in a shell. REQUIRES: bash, zsh or fish.
std::string completion_script(std::string_view shell);

// The commands; each cmd_*.cpp defines at least one.
Command search_command();
Command tune_command();
Command ask_command();
Command tell_command();
Command explore_command();
Command resume_command();
Command simulate_command();
Command worker_command();
Command slurm_command();
Command new_command();
Command validate_command();
Command schema_command();
Command status_command();
Command studies_command();
Command study_rename_command();
Command study_copy_command();
Command study_delete_command();
Command study_stop_command();
Command study_budget_command();
Command study_tag_command();
Command study_note_command();
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
Command db_check_command();
Command db_backup_command();
Command db_restore_command();
Command db_recover_command();
Command db_vacuum_command();
Command db_import_command();
Command db_export_command();
Command db_merge_command();
Command data_pack_command();
Command data_info_command();
Command data_inspect_command();
Command doctor_command();
Command bench_command();
Command completion_command();
Command man_command();

}  // namespace detol::inline cli
