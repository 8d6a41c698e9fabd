#include "cli/commands.h"
#include "cli/run_options.h"
#include "cli/search_setup.h"
#include "cli/settings.h"
#include "knowledge/query.h"
#include "models/choose_finally.h"
#include "models/network_files.h"
#include "scheduler/run/devices.h"
#include "scheduler/run/preflight.h"

namespace detol::inline cli {
namespace {

// Returns the limits that decide by what is trained: those that are asked for, and the time of GPUs
// that is in force. That an amount can be added is found out later.
Result<Budget> budget_to_train_by(const StudyRecord& record,
                                  const std::optional<BudgetChange>& change) {
  DETOL_ASSIGN(const Budget in_force, budget_in_force(record.budget));
  if (!change) return in_force;
  Budget asked = change->limits;
  if (change->adds && !asked.gpu_s) asked.gpu_s = in_force.gpu_s;
  return asked;
}

Result<void> choose(const Arguments& arguments, const StudyRecord& record, RunOptions& options) {
  DETOL_ASSIGN(const Budget budget, budget_to_train_by(record, options.budget));
  DETOL_ASSIGN(const std::string before, last_backend(options.storage, record.name));
  return choose_device(
      {.device = arguments.text("device", "auto"), .budget = budget, .previous_backend = before},
      options);
}

Result<int> run_resume(const Arguments& arguments) {
  DETOL_ASSIGN(RunOptions options, run_options_from(arguments));
  StudyRecord record;
  {
    DETOL_ASSIGN(const auto reader, Reader::open(options.storage));
    DETOL_ASSIGN(record, reader->study(arguments.text("STUDY")));
    DETOL_ASSIGN(options.budget, parse_budget_change(arguments.text("budget")));
    if (options.budget) DETOL_TRY(check_total(*reader, record, *options.budget));
    DETOL_ASSIGN(const auto overrides, set_overrides(arguments));
    DETOL_ASSIGN(options.config, load_study_config(record.config, record.name, overrides));
    say_known_remarks(*reader, record, options.config.data);
  }
  options.config.study = record.name;  // `--if-exists new` may have numbered it
  options.resume = true;
  if (options.budget) DETOL_TRY(check_units(options.budget->limits, options.config));
  DETOL_TRY(check_target(options));
  DETOL_TRY(is_run_by_detol(options.config));
  options.retry_failed = arguments.has("retry-failed");
  DETOL_TRY(choose(arguments, record, options));
  return run_search(options, program_hooks(),
                    [&](const std::string& study) { end_search(options, study); });
}

}  // namespace

Command resume_command() {
  return {
      .name = "resume",
      .summary = "resume a study that was stopped or killed, or give it more budget",
      .options = with_run_options({
          {"STUDY", "", "its name (detol studies)", Option::kRequired},
          {"--budget", "B|+B", "the new total, or +B to add B to it; default: the total as it was"},
          {"--set", "KEY=VALUE", "a wider range, or more choices: parameters.lr.high=0.5",
           Option::kRepeated},
          {"--retry-failed", "", "run trials that crashed or timed out again"},
      }),
      .examples =
          "  detol resume fashion-cnn\n"
          "  detol resume fashion-cnn --budget +1cpu-h\n"
          "  detol resume fashion-cnn --set parameters.lr.high=0.5 --budget +1cpu-h",
      .run = run_resume};
}

}  // namespace detol::inline cli
