#include "scheduler/study_run.h"

#include <charconv>
#include <string_view>
#include <system_error>

#include "core/exit_code.h"
#include "scheduler/master.h"
#include "scheduler/run_folder.h"
#include "scheduler/supervisor.h"
#include "scheduler/worker.h"

namespace detol {
namespace {

int exit_with(const Result<void>& done, std::string_view who) {
  if (done) return kExitDone;
  const Error& error = done.error();
  if (error.code == ErrorCode::kInterrupted)
    log_info("{}", error.message);
  else
    log_error("{}: {}", who, error.message);
  return exit_code_of(error.code);
}

// A live picture has the terminal for itself. If it cannot, other lines go through it.
std::optional<StderrAside> aside_for(const RunOptions& options,
                                     const std::filesystem::path& folder) {
  if (options.progress != ProgressMode::kLive) return std::nullopt;
  auto aside = StderrAside::into(aside_in(folder).string());
  return aside ? std::optional(std::move(*aside)) : std::nullopt;
}

Result<void> play(std::string_view role, const std::filesystem::path& folder, int number,
                  const Seams& seams) {
  DETOL_ASSIGN(const RunOptions options, read_options(folder));
  DETOL_TRY(set_up_log(options.log));
  if (role == "__master") return run_master(options, folder, number, seams);
  return run_worker(endpoint_in(folder), number, seams);
}

}  // namespace

int run_search(const RunOptions& options) {
  const auto folder = make_run_folder(options);
  if (!folder) return exit_with(tl::unexpected(folder.error()), "detol");
  const int code = supervise(*folder, aside_for(options, *folder));
  std::error_code ignored;
  std::filesystem::remove_all(*folder, ignored);
  return code;
}

std::optional<int> run_role(int argc, char** argv, const Seams& seams) {
  if (argc != 4) return std::nullopt;
  const std::string_view role = argv[1], word = argv[3];
  if (role != "__master" && role != "__worker") return std::nullopt;
  int number = 0;
  std::from_chars(word.data(), word.data() + word.size(), number);
  return exit_with(play(role, argv[2], number, seams), role == "__master" ? "detol" : "worker");
}

}  // namespace detol
