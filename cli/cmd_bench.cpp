#include <fmt/format.h>

#include <array>

#include "bench/group.h"
#include "bench/layers.h"
#include "bench/ledger.h"
#include "bench/search.h"
#include "bench/surrogate.h"
#include "bench/trainer.h"
#include "cli/bench_device.h"
#include "cli/commands.h"
#include "core/log.h"
#include "core/table.h"

namespace detol::inline cli {
namespace {

struct Bench {
  std::string_view name;
  void (*run)(Figures& figures);
};

constexpr std::array kBenches = {
    Bench{"trainer", bench_trainer},     Bench{"layers", bench_layers},
    Bench{"groups", bench_groups},       Bench{"search", bench_search},
    Bench{"surrogate", bench_surrogate}, Bench{"ledger", bench_ledger}};

Result<int> run_bench(const Arguments& arguments) {
  if (arguments.text("device") == "cuda") return bench_device(arguments);
  Figures figures(arguments.text("only"), [](const Figure& figure) {
    log_info("{} {:.4g} {}", figure.name, figure.value, figure.unit);
  });
  find_row<Bench>(kBenches, arguments.text("WHAT"))->run(figures);
  if (figures.all().empty())
    return fail(ErrorCode::kUsage, fmt::format("--only is '{}'; no figure's name contains it",
                                               arguments.text("only")));
  Rows rows{.columns = {"name", "value", "unit", "n", "spread"}, .rows = {}};
  for (const Figure& figure : figures.all())
    rows.rows.push_back({figure.name, figure.value, figure.unit, figure.n, figure.spread});
  return show(rows, arguments.globals);
}

}  // namespace

Command bench_command() {
  return {.name = "bench",
          .summary = "measure this machine: the figures behind detol's claims",
          .options = {{"WHAT", "", "what to measure", Option::kRequired, names_of<Bench>(kBenches)},
                      {"--only", "TEXT", "only figures whose name contains it; default: all"},
                      {"--device",
                       "DEVICE",
                       "of trainer and layers: what is measured; default: cpu",
                       Option::kOptional,
                       {"cpu", "cuda"}},
                      {"--precision",
                       "NAME",
                       "on a GPU; default bf16",
                       Option::kOptional,
                       {"fp32", "tf32", "bf16"}},
                      {"--batch", "N", "images of a step on a GPU; default 256"}},
          .examples =
              "  detol bench trainer\n  detol bench search -q -f json\n  detol bench surrogate\n  "
              "detol bench ledger\n"
              "  detol bench layers --only depthwise\n  detol bench trainer --device cuda",
          .run = run_bench};
}

}  // namespace detol::inline cli
