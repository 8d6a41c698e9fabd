#include "scheduler/processes/guardian.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <system_error>

#include "core/hash.h"

// NOLINTBEGIN(concurrency-mt-unsafe): these processes have one thread.

namespace detol::inline scheduler {
namespace {

namespace fs = std::filesystem;

constexpr const char* kVariable = "DETOL_RUN";
constexpr int kMostLooks = 100;
constexpr useconds_t kBetweenLooksUs = 20'000;

// Returns whether a process was started with this setting in its environment.
bool has_setting(const fs::path& process, const std::string& setting) {
  std::ifstream file(process / "environ", std::ios::binary);
  const std::string environment = '\0' + std::string(std::istreambuf_iterator<char>(file), {});
  return environment.find('\0' + setting + '\0') != std::string::npos;
}

// Kills the processes with this mark. Returns how many there were. The number of a process cannot
// become another's between the look and the signal, which goes to what was looked at.
int kill_marked(const std::string& mark) {
  int count = 0;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator("/proc", ignored)) {
    const std::string name = entry.path().filename();
    pid_t pid = 0;
    std::from_chars(name.data(), name.data() + name.size(), pid);
    if (pid <= 0 || pid == ::getpid()) continue;
    const Descriptor process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    if (process.get() < 0 || !has_setting(entry.path(), mark)) continue;
    ++count;
    ::syscall(SYS_pidfd_send_signal, process.get(), SIGKILL, nullptr, 0);
  }
  return count;
}

// Waits until nobody has the other end of the pipe.
[[noreturn]] void guard(int pipe, const std::string& mark) {
  ::prctl(PR_SET_NAME, "run-guardian");
  sigset_t all;
  sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  ::dup2(pipe, STDIN_FILENO);
  ::close_range(STDERR_FILENO + 1, ~0U, 0);
  for (const int stream : {STDOUT_FILENO, STDERR_FILENO})
    ::dup2(::open("/dev/null", O_WRONLY | O_CLOEXEC), stream);
  (void)!::chdir("/");
  char nothing = 0;
  while (::read(STDIN_FILENO, &nothing, 1) > 0) continue;
  for (int look = 0; look < kMostLooks && kill_marked(mark) > 0; ++look) ::usleep(kBetweenLooksUs);
  ::_exit(0);
}

// Starts the guardian as an orphan, and returns the end of a pipe that keeps it waiting; none (-1)
// if that is not possible.
Descriptor started(const std::string& mark) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return Descriptor(-1);
  const Descriptor read(ends[0]);
  Descriptor written(ends[1]);
  const pid_t child = ::fork();
  if (child == 0) {
    ::setsid();
    if (::fork() == 0) guard(read.get(), mark);
    ::_exit(0);
  }
  if (child > 0) ::waitpid(child, nullptr, 0);
  return written;
}

std::string new_mark() {
  std::random_device device;
  return std::string(kVariable) + "=" + to_hex(std::uint64_t{device()} << 32 | device());
}

}  // namespace

Guardian::Guardian() : mark_(new_mark()), end_(started(mark_)) {}

}  // namespace detol::inline scheduler

// NOLINTEND(concurrency-mt-unsafe)
