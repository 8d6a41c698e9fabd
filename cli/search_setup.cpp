#include "cli/search_setup.h"

#include "cli/devices.h"
#include "cli/run_options.h"
#include "cli/settings.h"
#include "knowledge/studies.h"

namespace detol::inline cli {
namespace {

IfExists if_exists_from(const Arguments& arguments) {
  const std::string word = arguments.text("if-exists", "fail");
  if (word == "resume") return IfExists::kResume;
  return word == "new" ? IfExists::kNew : IfExists::kFail;
}

// Returns the backend of the study that is resumed; empty: it is new, or was never run.
std::string previous_backend(const RunOptions& options) {
  if (options.if_exists != IfExists::kResume) return {};
  return last_backend(options.storage, options.config.study).value_or("");
}

Result<SearchSetup> set_up(const Arguments& arguments) {
  SearchSetup setup;
  RunOptions& options = setup.options;
  DETOL_ASSIGN(options, run_options_from(arguments));
  DETOL_ASSIGN(options.config, read_space(arguments));
  options.if_exists = if_exists_from(arguments);
  if (options.if_exists != IfExists::kResume) DETOL_TRY(check_new_name(options.config.study));
  DETOL_TRY(check_target(options));
  DETOL_ASSIGN(setup.preflight, check_study(options.config));
  DETOL_TRY(choose_device({.device = arguments.text("device", "auto"),
                           .budget = setup.preflight.budget,
                           .previous_backend = previous_backend(options),
                           .data = setup.preflight.data},
                          options));
  return setup;
}

}  // namespace

Result<SearchSetup> set_up_search(const Arguments& arguments) {
  return set_up(arguments).map_error(
      [&](Error error) { return as_written(std::move(error), arguments); });
}

}  // namespace detol::inline cli
