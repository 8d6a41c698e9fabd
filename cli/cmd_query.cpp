#include "cli/commands.h"
#include "cli/output.h"
#include "knowledge/query.h"

namespace detol {
namespace {

Result<int> run(const Arguments& arguments) {
  DETOL_ASSIGN(const auto reader, Reader::open(arguments.globals.storage));
  DETOL_ASSIGN(const Rows rows, reader->select(arguments.text("SQL")));
  DETOL_TRY(print_data(render(rows, arguments.globals)));
  if (rows.rows.empty()) return fail(ErrorCode::kEmpty, "the query found nothing");
  return 0;
}

std::string notes() {
  return "Views:\n"
         "  v_studies   study, state, budget, metric, direction, trials, ...\n"
         "  v_trials    study, trial, state, failure, reason, algorithm, arch_hash, params,\n"
         "              flops, epochs, device_seconds, started, finished, value, values_json\n"
         "  v_params    study, trial, name, value\n"
         "  v_metrics   study, trial, epoch, name, value\n"
         "  v_workers, v_datasets\n";
}

}  // namespace

Command query_command() {
  return {.name = "query",
          .summary = "read-only SQL over the knowledge base",
          .options = {{"SQL", "", "one SELECT", Option::kRequired}},
          .examples = "  detol query \"SELECT state, count(*) AS n FROM v_trials GROUP BY state\"",
          .run = run,
          .notes = notes};
}

}  // namespace detol
