#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/commands.h"
#include "core/log.h"
#include "studies/compared_studies.h"

namespace detol::inline cli {
namespace {

Result<int> run_compare(const Arguments& arguments) {
  const std::vector<std::string> names = arguments.all("STUDY");
  DETOL_ASSIGN(const ComparedStudies compared, compare_studies(arguments.globals.storage, names));
  DETOL_TRY(show(compared.rows, arguments.globals));
  log_info(
      "best_25 to best_100: the best of the first {} trials; p_better: a random trial beats one of "
      "{}",
      fmt::join(compared.counts, ", "), names.front());
  return 0;
}

std::string compare_notes() {
  return "best_25 to best_100 are the best of the first 25, 50, 75 and 100 % as many finished "
         "trials\n"
         "as the smallest study has. p_better is the probability that a random trial of the study "
         "is\n"
         "better than one of the first study (Mann-Whitney), p_low to p_high its interval: 95 % "
         "for\n"
         "all studies together, with fewer independent trials where neighbours are alike. The\n"
         "verdict is about the trials of these runs; to know which algorithm is better, run each\n"
         "with several seeds.";
}

}  // namespace

Command compare_command() {
  return {.name = "compare",
          .summary = "compare studies of the same metric with the first of them",
          .options = {{"STUDY", "", "two or more names (detol studies)", Option::kRepeated}},
          .examples =
              "  detol compare random-1 gp-1\n"
              "  detol compare random-1 gp-1 evolution-1 -f json",
          .run = run_compare,
          .notes = compare_notes};
}

}  // namespace detol::inline cli
