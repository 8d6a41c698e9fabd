#pragma once

// Commands: the subcommands of `detol`. A command is data: its name, its options, examples
// and a function; the parser, the help, the did-you-mean and the shell completions are made
// from this table. A new command is one cmd_*.cpp and one row in commands.cpp.

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/log.h"
#include "core/result.h"

namespace detol::inline cli {

enum class Format { kTable, kJson, kJsonl, kCsv };

// Globals holds the global options, which every command accepts.
struct Globals {
  std::string storage = "detol.db";
  Format format = Format::kTable;
  bool color = false;
  bool quiet = false;
  std::vector<std::string> columns = {};  // those to print; empty: all that fit
  int width = 0;                          // of the terminal on stdout; 0: it is none
  LogOptions log;
};

// Option: an option or a positional argument of a command.
struct Option {
  std::string_view name;   // "--budget", "-j,--workers"; positional: "STUDY"
  std::string_view value;  // a flag's argument: "FILE", "PATH..."; empty: a switch
  std::string_view help;
  enum Arity { kOptional, kRequired, kRepeated } arity = kOptional;
  std::vector<std::string_view> words = {};  // the accepted values; empty: any

  // Returns its key in Arguments: "budget", "workers", "STUDY".
  std::string_view key() const;
  bool is_positional() const { return !name.starts_with('-'); }
  bool is_list() const { return value.ends_with("..."); }  // one flag, several words
  bool is_switch() const { return value.empty() && !is_positional(); }
};

// Arguments: the words of one call, by the keys of the command's options.
struct Arguments {
  Globals globals;
  std::map<std::string, std::vector<std::string>, std::less<>> given;

  bool has(std::string_view key) const { return given.contains(key); }
  std::string text(std::string_view key, std::string_view otherwise = {}) const;
  std::vector<std::string> all(std::string_view key) const;

  // Returns a whole number of at least `low`; nullopt if it was not given. Errors (kUsage).
  Result<std::optional<std::int64_t>> number(std::string_view key, std::int64_t low) const;
};

struct Command {
  std::string_view name;  // "search"; in a group two words: "study rename"
  std::string_view summary;
  std::vector<Option> options;
  std::string_view examples;                       // shown under the help, one per line
  Result<int> (*run)(const Arguments& arguments);  // the exit code, unless it is an error
  std::string (*notes)() = nullptr;                // more help, such as the table of algorithms
};

// CommandGroup: a first word that several commands share, as in "study rename" and "study copy".
struct CommandGroup {
  std::string_view name;
  std::string_view summary;
};

// Returns every command in the order of `detol --help`; those of a group are neighbours.
std::span<const Command> commands();

std::span<const CommandGroup> command_groups();

// Returns what may follow `detol`: the names of commands and groups.
std::vector<std::string_view> first_words();

// Returns the second words of the commands of a group.
std::vector<std::string_view> words_of(const CommandGroup& group);

// Returns the options that every command accepts.
std::span<const Option> global_options();

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
