#include "cli/study_source.h"

#include <fmt/format.h>

#include "cli/settings.h"
#include "core/table.h"
#include "core/utf8.h"
#include "encodings/foreign/tuned_space.h"

namespace detol::inline cli {
namespace {

constexpr std::string_view kFlags = "the command line";  // the source of the space

// Leaves out the place in the text that was made of the flags.
Error of_flags(Error error) {
  const std::size_t end = error.message.find(": ");
  if (!error.message.starts_with(kFlags) || end == std::string::npos) return error;
  return {ErrorCode::kUsage, error.message.substr(end + 2)};
}

// Checks words of the command line, before they are taken for the text of a file.
Result<void> check_utf8(std::string_view what, const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (!is_utf8(word))
      return fail(ErrorCode::kUsage,
                  fmt::format("{}: {} is not UTF-8; choose another", what, in_quotes(word)));
  }
  return {};
}

}  // namespace

std::vector<Option> with_space_options(std::vector<Option> own) {
  const std::vector<Option> shared = {
      {"--space", "FILE", "a space file instead of the next three; default: a space of those"},
      {"--param", "NAME=RANGE", "such as lr=log(1e-5,1e-1), n=int(1,8), opt=choice(sgd,adam)",
       Option::kRepeated},
      {"--metric", "NAME:minimize", "what is reported; or NAME:maximize", Option::kRepeated},
      {"--steps", "N", "the steps of a whole trial, as they are reported; default: to its end"},
  };
  own.insert(own.end(), shared.begin(), shared.end());
  return own;
}

bool has_space(const Arguments& arguments) {
  return arguments.has("space") || arguments.has("param") || arguments.has("metric");
}

Result<StudyConfig> config_from_flags(const Arguments& arguments,
                                      const std::vector<std::string>& command,
                                      const std::string& name) {
  if (arguments.has("space")) {
    if (!command.empty() || arguments.has("param") || arguments.has("metric"))
      return fail(ErrorCode::kUsage,
                  "--space has the command, its parameters and its metrics; leave out what is said "
                  "twice, or --space");
    return read_space(arguments);
  }
  for (const char* needed : {"param", "metric"}) {
    if (!arguments.has(needed))
      return fail(ErrorCode::kUsage,
                  fmt::format("--{} is missing; or name a space file with --space", needed));
  }
  DETOL_TRY(check_utf8("--param", arguments.all("param")));
  DETOL_TRY(check_utf8("--metric", arguments.all("metric")));
  DETOL_TRY(check_utf8("the command", command));
  DETOL_TRY(check_utf8("the study", {name}));
  DETOL_ASSIGN(const std::string space, space_of({.study = name,
                                                  .command = command,
                                                  .parameters = arguments.all("param"),
                                                  .metrics = arguments.all("metric"),
                                                  .steps = arguments.text("steps")}));
  DETOL_ASSIGN(const auto overrides, overrides_from(arguments));
  return read_study_text(space, kFlags, overrides).map_error(of_flags);
}

}  // namespace detol::inline cli
