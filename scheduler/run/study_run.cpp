#include "scheduler/run/study_run.h"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <string_view>
#include <vector>

#include "core/exit_code.h"
#include "core/file.h"
#include "core/shared_clock.h"
#include "core/usable.h"
#include "knowledge/artefacts.h"
#include "knowledge/studies.h"
#include "scheduler/launchers/gpus.h"
#include "scheduler/launchers/local.h"
#include "scheduler/launchers/mpi.h"
#include "scheduler/launchers/remote.h"
#include "scheduler/launchers/rendezvous.h"
#include "scheduler/processes/run_folder.h"
#include "scheduler/processes/signals.h"
#include "scheduler/processes/supervisor.h"
#include "scheduler/processes/worker.h"
#include "scheduler/run/group_size.h"
#include "scheduler/run/join_run.h"
#include "scheduler/run/master.h"
#include "trainer/collectives/mpi_group.h"

namespace detol::inline scheduler {
namespace {

namespace fs = std::filesystem;

int exit_with(const Result<void>& done, std::string_view who) {
  if (done) return kExitDone;
  const Error& error = done.error();
  if (error.code == ErrorCode::kInterrupted)
    log_info("{}", error.message);
  else
    log_error("{}: {}", who, error.message);
  return exit_code_of(error.code);
}

// Redirects stderr if there is a live view. If that fails, other lines disturb its frame.
std::optional<StderrRedirect> redirect_for(const RunOptions& options,
                                           const std::filesystem::path& folder) {
  if (options.progress != ProgressMode::kLive) return std::nullopt;
  auto redirect = StderrRedirect::into(stderr_file_in(folder).string());
  return redirect ? std::optional(std::move(*redirect)) : std::nullopt;
}

// Prints what the processes of a failed run wrote last, where a live view hid it.
void print_last_stderr(const fs::path& file) {
  constexpr std::size_t kMost = 4000;  // bytes
  const auto text = read_file(file);
  if (!text || text->empty()) return;
  const std::size_t size = std::min(kMost, text->size());
  log_error("what its processes wrote last:\n{}", text->substr(text->size() - size));
}

// Prints a repeated warning once among progress lines; a live view counts its repeats.
LogOptions log_of(const RunOptions& options) {
  LogOptions log = options.log;
  log.once = options.progress != ProgressMode::kLive;
  return log;
}

// Makes this process die with its parent, which is the reaper of the worker's tree or the launcher
// of a group's ranks. A rank whose parent died before this line is a child of that reaper, which
// ends it, or, if the reaper is dead, of init.
void die_with_the_parent(int ranks) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (ranks > 1 && ::getppid() == 1) ::_exit(kExitInternal);
}

// The numbers that follow the folder among the arguments of a role.
using Numbers = std::vector<int>;

// Allows as many open files as an administrator does: every worker that joins over TCP takes one.
void raise_descriptor_limit() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

Result<void> play_master(const fs::path& folder, const Numbers& numbers, const TestHooks& hooks) {
  (void)share_clock(suspension_file_in(folder));
  raise_descriptor_limit();
  DETOL_ASSIGN(const RunOptions options, read_options(folder));
  DETOL_TRY(set_up_log(log_of(options)));
  return run_master(options, folder, {numbers.at(0), numbers.at(1)}, hooks);
}

Result<void> play_worker(const fs::path& folder, const Numbers& numbers, const TestHooks& hooks) {
  const int ranks = numbers.at(2);
  die_with_the_parent(ranks);
  (void)share_clock(suspension_file_in(folder));
  DETOL_ASSIGN(const RunOptions options, read_options(folder));
  DETOL_TRY(set_up_log(log_of(options)));
  const bool is_group = ranks > 1 && !options.config.command;
  const std::optional<MpiPlace> place = is_group ? mpi_place() : std::nullopt;
  select_gpus(options.gpus, numbers.at(0) * ranks + (place ? place->rank : 0),
              is_group ? 1 : ranks);
  const int workers = workers_of(options);
  const int threads = std::max(1, usable_cores().count / std::max(1, workers));
  if (options.config.command && options.config.command->binds_cores)
    bind_to_cores(numbers.at(0), workers);
  std::unique_ptr<Group> group;
  if (is_group) {
    DETOL_ASSIGN(group, join_mpi_group());
    ignore_signals();  // MPI sets its own handlers
  }
  DETOL_ASSIGN(const RendezvousInfo run, rendezvous_info(folder, Reach::kSocket));
  const MasterAddress master{.endpoint = endpoint_in(folder),
                             .keys = {run.keys.server_public, {}},
                             .worker = numbers.at(0),
                             .start = numbers.at(1),
                             .key = run.key,
                             .ranks = ranks,
                             .memory = worker_memory(options.gpus, ranks, ranks_per_gpu(options)),
                             .program_threads = threads};
  const bool leads = group == nullptr || group->rank() == 0;
  auto done =
      run_worker(leads ? std::optional(master) : std::nullopt, group ? *group : alone(), hooks);
  if (done)
    leave_mpi();
  else
    write_exit_reason(folder, numbers.at(0), done.error().message);
  return done;
}

Result<void> play_joining(const fs::path& folder, const Numbers& numbers, const TestHooks& hooks) {
  die_with_the_parent(numbers.at(2));
  (void)share_clock(suspension_file_in(folder));
  return play_joined(folder, numbers, hooks);
}

struct Role {
  std::string_view word;
  std::size_t numbers;  // how many numbers follow the folder
  std::string_view name;
  Result<void> (*play)(const fs::path&, const Numbers&, const TestHooks&);
};
constexpr Role kRoles[] = {{"__master", 2, "detol", play_master},
                           {"__worker", 3, "worker", play_worker},
                           {"__join", 4, "worker", play_joining}};

// Returns the study's name, which the first master decided; empty if it had not.
std::string study_of(const fs::path& folder) {
  const auto resolved = read_resolved_run(folder);
  return resolved && resolved->has_value() ? (*resolved)->study : "";
}

// Removes the file by which workers found this run; a master that was killed could not.
void end_joining(const RunOptions& options, const fs::path& folder, const std::string& study) {
  if (study.empty()) return;
  remove_published(folder, artefact_folder(options.storage, study) / kJoinFile);
}

// Returns the command of a worker on another machine; the first master has named the study.
std::vector<std::string> remote_words(const RemoteWorkers& remote, const RunOptions& options,
                                      const fs::path& folder, int number, int start) {
  const std::string study = study_of(folder);
  return remote.words({.study = study.empty() ? options.config.study : study,
                       .storage = fs::absolute(options.storage).string(),
                       .number = number,
                       .start = start});
}

// How a run ended.
struct Ended {
  int code = kExitDone;
  std::string study;  // its name; empty if it never began
};

Result<Ended> supervise_run(const RunOptions& options, const RemoteWorkers* remote) {
  const bool starts_workers = options.rendezvous.empty() && remote == nullptr;
  const int ranks = starts_workers && !options.config.command ? ranks_of(options) : 1;
  DETOL_TRY(check_launcher(ranks));
  if (starts_workers) say_if_cores_are_shared(options);
  if (ranks > 1) forget_own_mpi_job();
  DETOL_ASSIGN(const RunFolder folder, RunFolder::make(options));
  DETOL_ASSIGN(GroupLaunch launch, local_launch(ranks, folder));
  if (starts_workers) launch.ranks = ranks_of(options);  // of the program, where a worker runs one
  if (remote == nullptr) {
    launch.service = mps_service(options, folder.path());
  } else {
    launch.remote = [&](int number, int start) {
      return remote_words(*remote, options, folder.path(), number, start);
    };
  }
  const int code = supervise(folder.path(), launch, redirect_for(options, folder.path()));
  const std::string study = study_of(folder.path());
  end_joining(options, folder.path(), study);
  if (code == kExitInternal || code == kExitFailures)
    print_last_stderr(stderr_file_in(folder.path()));
  return Ended{code, study};
}

Result<int> supervise_search(const RunOptions& options, const RemoteWorkers* remote,
                             const AfterSearch& after) {
  DETOL_ASSIGN(const Ended ended, supervise_run(options, remote));
  if (ended.code == kExitDone && after && !ended.study.empty()) after(ended.study);
  return ended.code;
}

Result<int> search_on_machines(RunOptions options, const AfterSearch& after) {
  DETOL_ASSIGN(const RemoteWorkers remote, options.launcher == Launcher::kSlurm
                                               ? slurm_workers(options)
                                               : ssh_workers(options));
  options.workers = remote.count;
  options.listens_to_network = true;
  return supervise_search(options, &remote, after);
}

Result<int> search(const RunOptions& options, const TestHooks& hooks, const AfterSearch& after) {
  if (is_remote(options.launcher)) return search_on_machines(options, after);
  DETOL_ASSIGN(const std::optional<MpiPlace> place, mpi_job(options));
  const auto supervise_here = [&](const RunOptions& own) {
    return supervise_search(own, nullptr, after);
  };
  if (!place) return supervise_here(options);
  return search_in_mpi_job(options, *place, hooks, supervise_here);
}

}  // namespace

int run_search(const RunOptions& options, const TestHooks& hooks, const AfterSearch& after) {
  const Result<int> code = search(with_group_size(options), hooks, after);
  return code ? *code : exit_with(tl::unexpected(code.error()), "detol");
}

std::optional<int> run_role(int argc, char** argv, const TestHooks& hooks) {
  const std::vector<std::string_view> words(argv + std::min(argc, 1), argv + argc);
  for (const Role& role : kRoles) {
    if (words.size() != 2 + role.numbers || words[0] != role.word) continue;
    Numbers numbers(role.numbers);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const std::string_view word = words[2 + i];
      std::from_chars(word.data(), word.data() + word.size(), numbers[i]);
    }
    return exit_with(role.play(words[1], numbers, hooks), role.name);
  }
  return std::nullopt;
}

}  // namespace detol::inline scheduler
