#include "cli/run_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "core/table.h"
#include "encodings/study_config.h"
#include "trainer/backend.h"

namespace detol {
namespace {

// 0: as many as the study says.
Result<int> workers_from(const Arguments& arguments) {
  if (!arguments.has("workers")) return 0;
  if (arguments.text("workers") == "auto")
    return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  DETOL_ASSIGN(const auto workers, arguments.number("workers", 1));
  constexpr int kMost = 4096;  // processes of one machine
  if (*workers > kMost)
    return fail(ErrorCode::kUsage,
                fmt::format("workers is {}; it must be at most {}", *workers, kMost));
  return static_cast<int>(*workers);
}

Result<void> check_device(const Arguments& arguments) {
  const std::string group = arguments.text("group-size", "auto");
  if (group != "auto" && group != "1") {
    return fail(ErrorCode::kUsage,
                fmt::format("group-size is '{}'; this version trains each trial on one worker: "
                            "1 or auto",
                            group));
  }
  if (arguments.text("device", "auto") == "cuda" && find_row(backends(), "cudnn") == nullptr)
    return fail(ErrorCode::kUsage, "device is cuda, but this build has no GPU backend; use cpu");
  return {};
}

}  // namespace

std::vector<Option> with_run_options(std::vector<Option> own) {
  const std::vector<Option> shared = {
      {"-j,--workers", "N|auto", "worker processes; auto: one per core"},
      {"--group-size", "G|auto", "workers that train one trial together: 1"},
      {"--device", "DEVICE", "what trains", Option::kOptional, {"auto", "cpu", "cuda"}},
      {"--launcher", "NAME", "what starts the workers", Option::kOptional, {"local"}},
      {"--target", "METRIC>=V", "end the study when a trial gets there (or METRIC<=V)"},
      {"--progress", "MODE", "lines on stderr", Option::kOptional, {"auto", "plain", "none"}},
  };
  own.insert(own.end(), shared.begin(), shared.end());
  return own;
}

Result<RunOptions> run_options_from(const Arguments& arguments) {
  RunOptions options;
  DETOL_TRY(check_device(arguments));
  DETOL_ASSIGN(options.workers, workers_from(arguments));
  if (arguments.has("target")) {
    DETOL_ASSIGN(options.target, parse_target(arguments.text("target")));
  }
  options.storage = arguments.globals.storage;
  options.log = arguments.globals.log;
  if (arguments.globals.quiet || arguments.text("progress") == "none")
    options.progress = ProgressMode::kNone;
  return options;
}

Result<void> check_target(const RunOptions& options) {
  if (!options.target) return {};
  const std::span<const std::string_view> known = metric_names(options.config);
  if (std::ranges::find(known, options.target->metric) != known.end()) return {};
  return fail(ErrorCode::kUsage,
              "--target: " + unknown_name("metric", options.target->metric, known));
}

}  // namespace detol
