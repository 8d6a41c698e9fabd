#include "scheduler/launchers/mpi.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "core/child_process.h"
#include "core/exit_code.h"
#include "core/log.h"
#include "scheduler/launchers/gpus.h"
#include "scheduler/launchers/local.h"
#include "scheduler/launchers/rendezvous.h"
#include "scheduler/processes/signals.h"
#include "scheduler/processes/worker.h"

// NOLINTBEGIN(concurrency-mt-unsafe): these processes have one thread.

namespace detol::inline scheduler {
namespace {

// Returns whether mpirun or mpiexec started this process. They set these variables; srun, which
// also starts programs without MPI, does not.
bool is_launched_by_mpi() {
  return std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr ||
         std::getenv("MPI_LOCALNRANKS") != nullptr;
}

// Returns the pid of the launcher and its start time: unique on this machine since it booted.
std::string launcher_here() {
  std::ifstream file(fmt::format("/proc/{}/stat", ::getppid()));
  std::string stat{std::istreambuf_iterator<char>(file), {}};
  constexpr int kStartTime = 19;  // fields after the name in parentheses
  std::size_t at = stat.rfind(')');
  for (int field = 0; field <= kStartTime && at != std::string::npos; ++field)
    at = stat.find(' ', at + 1);
  if (at == std::string::npos) return {};
  return fmt::format("{}-{}", ::getppid(), stat.substr(at + 1, stat.find(' ', at + 1) - at - 1));
}

// Returns whether the launcher sets both variables, the number of its processes on this machine and
// in all, to the same value.
bool are_equal(const char* name_here, const char* name_all) {
  const char* here = std::getenv(name_here);
  const char* all = std::getenv(name_all);
  return here != nullptr && all != nullptr && std::string_view(here) == all;
}

// Returns a name that is equal in all processes of a job and, if the launcher sets any of these
// variables, in no other job.
std::string job_name() {
  for (const char* name : {"OMPI_MCA_orte_precondition_transports", "PMIX_NAMESPACE"}) {
    if (const char* value = std::getenv(name)) return value;
  }
  if (are_equal("MPI_LOCALNRANKS", "PMI_SIZE")) return launcher_here();
  std::string name = "job";
  for (const char* part : {"SLURM_JOB_ID", "SLURM_STEP_ID", "PBS_JOBID", "LSB_JOBID", "JOB_ID"}) {
    if (const char* value = std::getenv(part)) name += std::string("-") + value;
  }
  return name;
}

std::filesystem::path rendezvous_of(const RunOptions& options) {
  std::string name = job_name();
  std::ranges::replace_if(
      name, [](unsigned char c) { return std::isalnum(c) == 0; }, '-');
  return fmt::format("{}.workers-{}.json", std::filesystem::absolute(options.storage).string(),
                     name);
}

pid_t g_supervisor = 0;

void pass_on(int signal) {
  const int before = errno;
  ::kill(g_supervisor, signal);
  errno = before;
}

void pass_on_signals() {
  ignore_signals();
  for (int signal : {SIGINT, SIGTERM, SIGUSR1, SIGHUP}) ::signal(signal, pass_on);
}

// Starts the supervisor as a child, before this process initialises MPI: a process with MPI must
// not fork. The child has a process group of its own, so that it gets a signal to all only once.
pid_t fork_supervisor(const std::function<int()>& supervise) {
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(kExitInternal);
  ::setpgid(0, 0);
  if (const char* fd = std::getenv("PMI_FD")) ::close(std::atoi(fd));  // to MPICH's launcher
  ::_exit(supervise());
}

int wait_for(pid_t child) {
  const int status = wait_for_end(child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : kExitInternal;
}

Result<int> lead_the_job(const std::function<int()>& supervise, int ranks) {
  if (ranks == 1) return supervise();
  g_supervisor = fork_supervisor(supervise);
  if (g_supervisor < 0) return fail(ErrorCode::kInternal, "cannot start a process");
  pass_on_signals();
  DETOL_TRY(split_mpi_group(0));
  pass_on_signals();
  const int code = wait_for(g_supervisor);
  leave_mpi();
  return code;
}

Result<int> work(const RunOptions& options, const MpiPlace& place, int ranks,
                 const TestHooks& hooks) {
  const int number = (place.rank - 1) / ranks;
  const bool is_whole = (number + 1) * ranks < place.size;
  std::unique_ptr<Group> group;
  ignore_signals();
  select_gpus(options.gpus, local_rank());
  if (ranks > 1) {
    DETOL_ASSIGN(group, split_mpi_group(1 + number));
    ignore_signals();
  }
  if (is_whole) {
    const bool leads = group == nullptr || group->rank() == 0;
    auto master = leads ? find_master(options.rendezvous) : std::nullopt;
    if (master) {
      master->id = master->name = fmt::format("mpi/{}", number);
      master->ranks = ranks;
      master->is_replaced = false;
    } else if (leads) {
      log_warning("worker {}: no search to join: {} does not appear", number,
                  options.rendezvous.string());
    }
    DETOL_TRY(run_worker(master, group ? *group : alone(), hooks));
  } else if (group->rank() == 0) {
    log_warning("{} of {} processes fill no group of {}: they leave", (place.size - 1) % ranks,
                place.size, ranks);
  }
  leave_mpi();
  return kExitDone;
}

}  // namespace

Result<std::optional<MpiPlace>> mpi_job(const RunOptions& options) {
  if (options.launcher == Launcher::kLocal) return std::nullopt;
  const bool is_asked_for = options.launcher == Launcher::kMpi;
  const std::optional<MpiPlace> place = mpi_place();
  if (!is_asked_for && !(place && place->size > 1 && is_launched_by_mpi())) return std::nullopt;
  if (!place) {
    return fail(
        ErrorCode::kUsage,
        "launcher is mpi, but this is no MPI job; start it as mpirun -n N detol search ...");
  }
  const int needed = 1 + ranks_of(options);
  if (place->size >= needed) return place;
  return fail(ErrorCode::kUsage,
              fmt::format("a job of {} processes has no room for a worker of {}; it needs {}",
                          place->size, ranks_of(options), needed));
}

bool is_whole_job_here() {
  const char* nodes = std::getenv("SLURM_STEP_NUM_NODES");
  return are_equal("OMPI_COMM_WORLD_LOCAL_SIZE", "OMPI_COMM_WORLD_SIZE") ||
         are_equal("MPI_LOCALNRANKS", "PMI_SIZE") ||
         (nodes != nullptr && std::string_view(nodes) == "1");
}

Result<int> search_in_mpi_job(RunOptions options, const MpiPlace& place, const TestHooks& hooks,
                              const std::function<Result<int>(const RunOptions&)>& supervise) {
  const int ranks = ranks_of(options);
  options.rendezvous = rendezvous_of(options);
  options.workers = (place.size - 1) / ranks;
  if (place.rank > 0) return work(options, place, ranks, hooks);
  const auto search = [&] {
    const Result<int> code = supervise(options);
    withdraw(options.rendezvous);
    if (code) return *code;
    log_error("detol: {}", code.error().message);
    return exit_code_of(code.error().code);
  };
  return lead_the_job(search, ranks);
}

}  // namespace detol::inline scheduler

// NOLINTEND(concurrency-mt-unsafe)
