#include "cli/bench_search.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "core/log.h"
#include "trainer/bench.h"

namespace detol {
namespace {

Result<int> run(const Arguments& arguments) {
  const auto say = [](const Figure& figure) {
    log_info("{} {:.4g} {}", figure.name, figure.value, figure.unit);
  };
  const auto figures = arguments.text("WHAT") == "search" ? bench_search(say) : bench_trainer(say);
  Rows rows{.columns = {"name", "value", "unit", "n", "spread"}, .rows = {}};
  for (const Figure& figure : figures)
    rows.rows.push_back({figure.name, figure.value, figure.unit, figure.n, figure.spread});
  DETOL_TRY(print_data(render(rows, arguments.globals)));
  return 0;
}

}  // namespace

Command bench_command() {
  return {.name = "bench",
          .summary = "measure this machine: the figures behind detol's claims",
          .options = {{"WHAT", "", "what to measure", Option::kRequired, {"trainer", "search"}}},
          .examples = "  detol bench trainer\n  detol bench search -q -f json",
          .run = run};
}

}  // namespace detol
