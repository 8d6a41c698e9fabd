#include "cli/commands.h"

#include <fmt/format.h>

#include <array>
#include <charconv>

namespace detol::inline cli {

std::string_view Option::key() const {
  if (is_positional()) return name;
  return name.substr(name.find("--") + 2);
}

std::string Arguments::text(std::string_view key, std::string_view otherwise) const {
  const auto found = given.find(key);
  return std::string(found == given.end() ? otherwise : found->second.back());
}

std::vector<std::string> Arguments::all(std::string_view key) const {
  const auto found = given.find(key);
  return found == given.end() ? std::vector<std::string>{} : found->second;
}

Result<std::optional<std::int64_t>> Arguments::number(std::string_view key,
                                                      std::int64_t low) const {
  if (!has(key)) return std::nullopt;
  const std::string word = text(key);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size() || value < low) {
    return fail(
        ErrorCode::kUsage,
        fmt::format("{} is '{}'; it must be a whole number of at least {}", key, word, low));
  }
  return value;
}

std::span<const Command> commands() {
  static const std::vector<Command> kTable = {
      search_command(),       tune_command(),       ask_command(),          tell_command(),
      explore_command(),      resume_command(),     simulate_command(),     worker_command(),
      slurm_command(),        new_command(),        validate_command(),     schema_command(),
      status_command(),       studies_command(),    study_rename_command(), study_copy_command(),
      study_delete_command(), study_stop_command(), study_budget_command(), study_tag_command(),
      study_note_command(),   trials_command(),     trial_command(),        best_command(),
      pareto_command(),       importance_command(), compare_command(),      similar_command(),
      report_command(),       dashboard_command(),  plot_command(),         query_command(),
      test_command(),         retrain_command(),    prune_command(),        quantize_command(),
      landscape_command(),    ensemble_command(),   export_command(),       predict_command(),
      db_check_command(),     db_backup_command(),  db_restore_command(),   db_recover_command(),
      db_vacuum_command(),    db_import_command(),  db_export_command(),    db_merge_command(),
      data_pack_command(),    data_info_command(),  data_inspect_command(), doctor_command(),
      bench_command(),        completion_command(), man_command()};
  return kTable;
}

std::span<const CommandGroup> command_groups() {
  static constexpr std::array kGroups = {
      CommandGroup{"study", "rename, copy, delete, stop, tag or annotate a study"},
      CommandGroup{"db", "check, back up, restore, import, export or merge knowledge bases"},
      CommandGroup{"data", "pack a data set into one file, or say what is in one"},
  };
  return kGroups;
}

std::vector<std::string_view> first_words() {
  std::vector<std::string_view> words;
  for (const Command& command : commands()) {
    const std::string_view first = command.name.substr(0, command.name.find(' '));
    if (words.empty() || words.back() != first) words.push_back(first);
  }
  return words;
}

std::vector<std::string_view> words_of(const CommandGroup& group) {
  std::vector<std::string_view> words;
  for (const Command& command : commands()) {
    const std::size_t space = command.name.find(' ');
    if (command.name.substr(0, space) == group.name && space != std::string_view::npos)
      words.push_back(command.name.substr(space + 1));
  }
  return words;
}

std::span<const Option> global_options() {
  static const std::vector<Option> kOptions = {
      {"--storage", "PATH", "the knowledge base; default $DETOL_STORAGE, else ./detol.db"},
      {"-f,--format",
       "FORMAT",
       "how to print what was found; default: table",
       Option::kOptional,
       {"table", "json", "jsonl", "csv"}},
      {"--columns", "NAMES",
       "print only these columns, joined by commas, in this order; default: all that fit"},
      {"-q,--quiet", "", "no progress, only warnings and errors"},
      {"-v,--verbose", "", "more on stderr"},
      {"--color", "WHEN", "colours; default: auto", Option::kOptional, {"auto", "always", "never"}},
      {"--log-file", "FILE", "also write the log there; default: stderr alone"},
      {"--debug", "", "everything on stderr"},
  };
  return kOptions;
}

}  // namespace detol::inline cli
