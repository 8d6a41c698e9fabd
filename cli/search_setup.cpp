#include "cli/search_setup.h"

#include "cli/devices.h"
#include "cli/final_choice.h"
#include "cli/output.h"
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

Result<SearchSetup> set_up(const Arguments& arguments,
                           const std::function<Result<StudyConfig>()>& read) {
  SearchSetup setup;
  RunOptions& options = setup.options;
  DETOL_ASSIGN(options, run_options_from(arguments));
  DETOL_ASSIGN(options.config, read());
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

Rows summary_of(const SearchSetup& setup) {
  const auto& [options, preflight] = setup;
  const StudyConfig& config = options.config;
  return {
      .columns = {"study", "algorithm", "pruner", "budget", "device", "workers", "storage",
                  "choices", "space_size", "training_images", "validation_images"},
      .rows = {{config.study, config.algorithm.name, config.pruner.name, to_text(preflight.budget),
                device_name(options),
                options.workers <= 0 ? std::string("auto") : std::to_string(options.workers),
                options.storage.string(), static_cast<std::int64_t>(config.space.size()),
                config.space.cardinality(), preflight.data.training, preflight.data.validation}}};
}

}  // namespace

Result<SearchSetup> set_up_search(const Arguments& arguments) {
  return set_up_search(arguments, [&] { return read_space(arguments); });
}

Result<SearchSetup> set_up_search(const Arguments& arguments,
                                  const std::function<Result<StudyConfig>()>& read) {
  return set_up(arguments, read).map_error([&](Error error) {
    return as_written(std::move(error), arguments);
  });
}

Result<int> run_set_up(const SearchSetup& setup, const Arguments& arguments) {
  if (!arguments.has("dry-run")) {
    return run_search(setup.options, {},
                      [&](const std::string& study) { end_search(setup.options, study); });
  }
  DETOL_TRY(print_data(render_record(summary_of(setup), arguments.globals)));
  return 0;
}

}  // namespace detol::inline cli
