#include "cli/commands.h"
#include "cli/preflight.h"
#include "cli/run_options.h"
#include "knowledge/query.h"

namespace detol {
namespace {

Result<int> run(const Arguments& arguments) {
  DETOL_ASSIGN(RunOptions options, run_options_from(arguments));
  StudyRecord record;
  {
    DETOL_ASSIGN(const auto reader, Reader::open(options.storage));
    DETOL_ASSIGN(record, reader->study(arguments.text("STUDY")));
  }
  DETOL_ASSIGN(options.config, load_study_config(record.config, record.name));
  options.config.study = record.name;  // the file says another where --if-exists new numbered it
  options.resume = true;
  options.budget = arguments.text("budget");
  if (arguments.has("budget")) {
    const std::string_view words = options.budget;
    DETOL_ASSIGN(const Budget asked, parse_budget(words.substr(words.starts_with('+') ? 1 : 0)));
    DETOL_TRY(check_units(asked, options.config));
  }
  DETOL_TRY(check_target(options));
  options.retry_failed = arguments.has("retry-failed");
  return run_search(options);
}

}  // namespace

Command resume_command() {
  return {.name = "resume",
          .summary = "go on with a study that was stopped or killed, or give it more budget",
          .options = with_run_options({
              {"STUDY", "", "its name (detol studies)", Option::kRequired},
              {"--budget", "B|+B", "a new total, or with a plus so much more"},
              {"--retry-failed", "", "run trials that crashed or timed out again"},
          }),
          .examples =
              "  detol resume fashion-cnn\n"
              "  detol resume fashion-cnn --budget +1cpu-h",
          .run = run};
}

}  // namespace detol
