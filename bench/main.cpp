// The program detol-bench, which `detol bench` starts: it measures one of a table of subjects.

#include <fmt/format.h>

#include <array>

#include "bench/cuda_rows.h"
#include "bench/group.h"
#include "bench/layers.h"
#include "bench/ledger.h"
#include "bench/search.h"
#include "bench/surrogate.h"
#include "bench/trainer.h"
#include "cli/commands.h"
#include "core/exit_code.h"
#include "core/log.h"
#include "core/table.h"
#include "printing/output.h"
#include "trainer/backends/cuda/probe.h"

namespace detol::inline bench {
namespace {

struct Bench {
  std::string_view name;
  void (*run)(Figures& figures);
};

constexpr std::array kBenches = {
    Bench{"trainer", bench_trainer},     Bench{"layers", bench_layers},
    Bench{"groups", bench_groups},       Bench{"search", bench_search},
    Bench{"surrogate", bench_surrogate}, Bench{"ledger", bench_ledger}};

Result<int> measure(const Arguments& arguments) {
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

// Runs words that `detol bench` takes.
Result<int> run(std::vector<std::string> words) {
  words.insert(words.begin(), "bench");
  DETOL_ASSIGN(const Call call, parse(words));
  if (call.command != nullptr) return measure(call.arguments);
  return show(call.text);
}

}  // namespace
}  // namespace detol::inline bench

int main(int argc, char** argv) {
  if (const auto code = detol::run_bench_rank(argc, argv)) return *code;
  if (const auto code = detol::run_cuda_probe(argc, argv)) return *code;
  const auto done = detol::run(std::vector<std::string>(argv + 1, argv + argc));
  return done ? *done : detol::print_error(done.error());
}
