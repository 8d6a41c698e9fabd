#include "scheduler/processes/child.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <system_error>

#include "core/log.h"
#include "core/program.h"
#include "core/usable.h"
#include "scheduler/processes/process_tree.h"
#include "scheduler/processes/signals.h"

// NOLINTBEGIN(concurrency-mt-unsafe): these processes have one thread.

namespace detol::inline scheduler {
namespace {

// Sets up a child and executes its program. In a program with threads, only async-signal-safe calls
// would be allowed after fork; this one has none.
void become(std::vector<std::string> words, const GroupLaunch& launch, Inherited inherited) {
  ::setpgid(0, 0);
  ignore_signals();
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::dup2(::open("/dev/null", O_RDONLY | O_CLOEXEC), STDIN_FILENO);
  ::dup2(STDERR_FILENO, STDOUT_FILENO);  // stdout is for data, and a run writes none
  if (inherited.terminal >= 0) ::dup2(inherited.terminal, STDERR_FILENO);
  // Closes what happened to be open: a shell's lock, the port of MPICH's launcher.
  ::close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
  if (inherited.socket >= 0) ::fcntl(inherited.socket, F_SETFD, 0);
  // One thread per worker: oneDNN's own threads (OpenMP) would only wait for each other. What the
  // user set is for the programs of the user.
  const char* threads = ::getenv("OMP_NUM_THREADS");
  ::setenv(kProgramThreadsVariable, threads != nullptr ? threads : "", 0);
  ::setenv("OMP_NUM_THREADS", "1", 1);
  ::setenv("OMP_WAIT_POLICY", "passive", 1);
  for (const std::string& setting : launch.environment)
    ::putenv(const_cast<char*>(setting.c_str()));
  const std::string program =
      launch.launcher.empty() ? program_path().string() : launch.launcher.front();
  words.insert(words.begin(), launch.launcher.begin(), launch.launcher.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  ::execv(program.c_str(), argv.data());
}

}  // namespace

std::vector<std::string> role_words(const GroupLaunch& launch, std::string_view role,
                                    const std::string& folder, const std::vector<int>& numbers) {
  const std::string program =
      launch.launcher.empty() ? "detol" : fmt::format("/proc/{}/exe", ::getpid());
  std::vector<std::string> words = {program, std::string(role), folder};
  for (const int number : numbers) words.push_back(std::to_string(number));
  return words;
}

pid_t spawn(const std::vector<std::string>& words, const GroupLaunch& launch, Inherited inherited) {
  const pid_t tree = start_tree([&] { become(words, launch, inherited); });
  if (tree < 0) log_error("cannot start a process: {}", std::generic_category().message(errno));
  return tree;
}

}  // namespace detol::inline scheduler

// NOLINTEND(concurrency-mt-unsafe)
