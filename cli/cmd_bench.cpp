// `bench`: starts detol-bench, a program of its own (bench/), with the same words.

#include <fmt/format.h>
#include <unistd.h>

#include "cli/commands.h"
#include "core/program.h"

namespace detol::inline cli {
namespace {

Result<int> run_bench(const Arguments& arguments) {
  const std::filesystem::path program = program_path().parent_path() / "detol-bench";
  std::vector<std::string> words = {program, arguments.text("WHAT")};
  for (const auto& [key, values] : arguments.given) {
    if (key == "WHAT") continue;
    words.push_back("--" + key);
    words.insert(words.end(), values.begin(), values.end());
  }
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  ::execv(program.c_str(), pointers.data());
  return fail(ErrorCode::kUsage,
              fmt::format("bench: there is no program {}; install the package detol-dev, or run "
                          "`./detol bench` in a checkout of the sources",
                          program.string()));
}

}  // namespace

Command bench_command() {
  return {.name = "bench",
          .summary = "measure this machine: the figures behind detol's claims",
          .options = {{"WHAT",
                       "",
                       "what to measure",
                       Option::kRequired,
                       {"trainer", "layers", "groups", "search", "surrogate", "ledger"}},
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
