// The detol program.

#include <fmt/format.h>

#include <csignal>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "core/exit_code.h"
#include "core/fault.h"
#include "core/log.h"
#include "models/network_files.h"
#include "printing/output.h"
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
  const Result<int> done = call ? run_call(*call) : tl::unexpected(call.error());
  return done ? *done : print_error(done.error());
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
