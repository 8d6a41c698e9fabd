#include "cli/search_setup.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "cli/commands.h"
#include "cli/run_options.h"
#include "cli/settings.h"
#include "knowledge/query.h"
#include "knowledge/studies.h"
#include "models/choose_finally.h"
#include "models/network_files.h"
#include "scheduler/pruners/pruner.h"
#include "scheduler/run/candidate_sample.h"
#include "scheduler/run/devices.h"
#include "scheduler/study_opening.h"
#include "search/searcher.h"

namespace detol::inline cli {

IfExists if_exists_from(const Arguments& arguments, const std::string& otherwise) {
  const std::string word = arguments.text("if-exists", otherwise);
  if (word == "resume") return IfExists::kResume;
  return word == "new" ? IfExists::kNew : IfExists::kFail;
}

namespace {

// Returns the backend of the study that is resumed; empty: it is new, or was never run.
std::string previous_backend(const RunOptions& options) {
  if (options.if_exists != IfExists::kResume) return {};
  return last_backend(options.storage, options.config.study).value_or("");
}

// Takes the budget of the command line: for a study that is resumed a new total or, with a plus,
// more than it had.
Result<void> take_budget(const Arguments& arguments, RunOptions& options) {
  const std::string text = arguments.text("budget");
  const auto change = parse_budget_change(text);
  if (!change) return {};  // check_study() refuses it, and says where it stands
  const std::optional<BudgetChange>& asked = *change;
  const bool resumes = options.if_exists == IfExists::kResume;
  if (asked && asked->adds && !resumes)
    return usage_error(
        "--budget {} adds to that of a study that is there; write --budget {} --if-exists resume, "
        "or leave out the +",
        text, text);
  std::error_code ignored;
  if (!asked || !resumes || !std::filesystem::exists(options.storage, ignored)) return {};
  DETOL_ASSIGN(const auto reader, Reader::open(options.storage));
  const auto record = reader->study(options.config.study);
  if (!record) return {};  // it is new
  DETOL_TRY(check_total(*reader, *record, *asked));
  options.budget = asked;
  return {};
}

}  // namespace

Result<void> check_total(Reader& reader, const StudyRecord& record, const BudgetChange& change) {
  if (change.adds) return {};
  const Budget& total = change.limits;
  const auto in_force = parse_budget(record.budget);
  if (in_force && to_text(*in_force) == to_text(total)) return {};
  DETOL_ASSIGN(
      const Rows used,  // total() is always a real number
      reader.select("SELECT total(wall_seconds), total(device_seconds), (SELECT total(epochs > 0) "
                    "FROM v_trials WHERE study = ?1) FROM v_studies WHERE study = ?1",
                    {record.name}));
  const auto& row = used.rows.front();
  const Spent spent{.wall_s = std::get<double>(row[0]),
                    .device_s = std::get<double>(row[1]),
                    .trials = std::get<double>(row[2])};
  const std::vector<Meter> all = meters(total, spent);
  const auto full =
      std::ranges::find_if(all, [](const Meter& meter) { return meter.used > meter.limit; });
  if (full == all.end()) return {};
  return usage_error(
      "--budget {} is the total, of which {:.3g} {} are used; to add to it write --budget +{}",
      to_text(total), full->used, full->unit, to_text(total));
}

Result<void> is_run_by_detol(const StudyConfig& config) {
  if (!config.external) return {};
  return make_evaluator(config, {}).map([](const auto&) {});
}

namespace {

template <typename Row>
std::string table_of(std::string_view title, std::span<const Row> rows) {
  std::string text = fmt::format("{}:\n", title);
  for (const Row& row : rows) text += fmt::format("  {:<26}{}\n", row.name, row.summary);
  return text;
}

Result<Rows> summary_of(const SearchSetup& setup) {
  const auto& [options, preflight] = setup;
  const StudyConfig& config = options.config;
  Rows rows{.columns = {"study", "algorithm", "pruner", "budget", "device", "workers", "storage",
                        "choices", "space_size"},
            .rows = {{config.study, config.algorithm.name, config.pruner.name,
                      to_text(preflight.budget), device_name(options),
                      options.workers <= 0 ? std::string("auto") : std::to_string(options.workers),
                      options.storage.string(), static_cast<std::int64_t>(config.space.size()),
                      size_of_space(config.space)}}};
  if (!config.trains()) return rows;
  const int of_file = std::max(1, config.resources.group_size);
  const int ranks = options.group_size > 0 ? options.group_size : of_file;
  DETOL_ASSIGN(const CandidateSample sample,
               sample_candidates(config, preflight, ranks, kUsualSample));
  rows.columns.insert(rows.columns.end(), {"training_images", "validation_images", "group_size",
                                           "refused_share", "refused_because"});
  auto& row = rows.rows.front();
  row.insert(row.end(), {preflight.data.training, preflight.data.validation});
  row.emplace_back(std::int64_t{ranks});
  row.emplace_back(static_cast<double>(sample.refused()) / static_cast<double>(sample.drawn));
  row.push_back(sample.reason.empty() ? Cell() : Cell(sample.reason));
  return rows;
}

// Checks what a run would find of the study in the knowledge base, which is only read.
Result<void> check_existing(const RunOptions& options) {
  std::error_code ignored;
  if (options.if_exists == IfExists::kNew || !std::filesystem::exists(options.storage, ignored))
    return {};
  DETOL_ASSIGN(const auto reader, Reader::open(options.storage));
  const auto record = reader->study(options.config.study);
  if (!record && record.error().code == ErrorCode::kStudy) return {};  // it would be new
  if (!record) return tl::unexpected(record.error());
  return resolve_existing(*record, {.config = options.config,
                                    .storage = options.storage,
                                    .budget = options.budget,
                                    .if_exists = options.if_exists,
                                    .resume = false})
      .map([](const ResolvedStudy&) {});
}

}  // namespace

std::string search_notes() {
  return table_of("Algorithms", searchers()) + table_of("Pruners", pruners()) +
         "Budgets: 10cpu-min, 2h, 200trials, 5e15flops; a comma joins limits\n";
}

std::vector<Option> with_study_options(std::vector<Option> own) {
  const std::vector<Option> shared = {
      {"--budget", "B",
       "stop after this much time, compute or trials; default: that of the space file, else no "
       "limit"},
      {"--algorithm", "NAME",
       "the search algorithm; default: that of the space file, else portfolio"},
      {"--pruner", "NAME",
       "early stopping of weak trials; default: that of the space file, else none"},
      {"--seed", "S", "the seed of every random choice; default: that of the space file, else 0"},
      {"--set", "KEY=VALUE", "change a key of the space file", Option::kRepeated},
      one_of("--if-exists", "WHAT", "what to do when that study exists; default: fail",
             {"fail", "resume", "new"}),
      {"--dry-run", "", "check everything, say what would run, create nothing"},
  };
  own.insert(own.end(), shared.begin(), shared.end());
  return with_run_options(std::move(own));
}

Result<SearchSetup> set_up_search(const Arguments& arguments) {
  return set_up_search(arguments, [&] { return read_space(arguments); });
}

Result<SearchSetup> set_up_search(const Arguments& arguments,
                                  const std::function<Result<StudyConfig>()>& read) {
  SearchSetup setup;
  RunOptions& options = setup.options;
  DETOL_ASSIGN(options, run_options_from(arguments));
  DETOL_ASSIGN(options.config, read());
  options.if_exists = if_exists_from(arguments, "fail");
  DETOL_TRY(take_budget(arguments, options));
  if (options.if_exists != IfExists::kResume) DETOL_TRY(check_new_name(options.config.study));
  DETOL_TRY(check_target(options));
  DETOL_TRY(is_run_by_detol(options.config));
  DETOL_ASSIGN(setup.preflight, check_study(options.config));
  DETOL_TRY(choose_device({.device = arguments.text("device", "auto"),
                           .budget = setup.preflight.budget,
                           .previous_backend = previous_backend(options),
                           .data = setup.preflight.data},
                          options));
  return setup;
}

Result<int> run_set_up(const SearchSetup& setup, const Arguments& arguments) {
  if (!arguments.has("dry-run")) {
    return run_search(setup.options, program_hooks(),
                      [&](const std::string& study) { end_search(setup.options, study); });
  }
  DETOL_TRY(check_existing(setup.options));
  DETOL_ASSIGN(const Rows summary, summary_of(setup));
  return show_record(summary, arguments.globals);
}

}  // namespace detol::inline cli
