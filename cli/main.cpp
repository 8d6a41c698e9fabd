// The detol program.

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "bench/group.h"
#include "cli/commands.h"
#include "core/exit_code.h"
#include "core/fault.h"
#include "core/log.h"
#include "core/source_excerpt.h"
#include "core/terminal.h"
#include "core/utf8.h"
#include "models/network_files.h"
#include "scheduler/run/study_run.h"
#include "trainer/backends/cuda/probe.h"

namespace detol::inline cli {
namespace {

int run_program(const std::vector<std::string>& words) {
  const Result<Call> call = parse(words);
  if (call && call->command == nullptr) {
    fmt::print("{}", call->text);
    return kExitDone;
  }
  const Result<int> done =
      call ? call->command->run(call->arguments) : Result<int>(tl::unexpected<Error>(call.error()));
  if (done) return *done;
  const std::string& message = done.error().message;  // a line per mistake
  std::string shown;                                  // below the line before
  for (std::size_t from = 0; from <= message.size();) {
    const std::size_t end = std::min(message.size(), message.find('\n', from));
    const std::string line = message.substr(from, end - from);
    log_error("detol: {}", printable(line));
    from = end + 1;
    if (::isatty(STDERR_FILENO) == 0) continue;
    std::string excerpt = source_excerpt(line, screen_at(STDERR_FILENO, /*color=*/false));
    if (excerpt != shown) fmt::print(stderr, "{}", excerpt);
    shown = std::move(excerpt);
  }
  return exit_code_of(done.error().code);
}

}  // namespace
}  // namespace detol::inline cli

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // a write beyond `ulimit -f` fails as on a full disk
  try {
    if (const auto usable = detol::check_fault_setting(); !usable) {
      detol::log_error("detol: {}", usable.error().message);
      return detol::kExitUsage;
    }
    if (const auto code = detol::run_role(argc, argv, detol::program_hooks())) return *code;
    if (const auto code = detol::run_bench_rank(argc, argv)) return *code;
    if (const auto code = detol::run_cuda_probe(argc, argv)) return *code;
    return detol::run_program(std::vector<std::string>(argv + 1, argv + argc));
  } catch (const std::bad_alloc&) {
    detol::log_error(
        "detol: out of memory; free some, or raise the limit (`ulimit -v`); nothing that was "
        "acknowledged is lost");
    return detol::kExitInternal;
  } catch (const std::exception& error) {
    detol::log_error("detol: internal error: {}; please report it", error.what());
    return detol::kExitInternal;
  }
}
