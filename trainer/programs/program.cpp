#include "trainer/programs/program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>
#include <system_error>
#include <utility>

#include "core/child_process.h"
#include "core/program.h"
#include "core/table.h"
#include "core/usable.h"

namespace detol::inline trainer {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> environment_of(const ProgramStart& start) {
  std::vector<std::string> settings;
  for (char** setting = environ; *setting != nullptr; ++setting) {
    const std::string_view text = *setting;
    const std::string name(text.substr(0, text.find('=')));
    const bool is_of_workers = is_of_mpi_job(text) || name == kProgramThreadsVariable;
    if (!start.environment.contains(name) && !is_of_workers) settings.emplace_back(text);
  }
  for (const auto& [name, value] : start.environment) settings.push_back(name + "=" + value);
  return settings;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Child is all that a new process needs to become the program, made before it is forked.
struct Child {
  const char* path;
  const char* folder;  // empty: this process's
  char** arguments;
  char** environment;
  int output;    // its standard output and error
  int lifeline;  // see below
  int failure;   // where it writes an errno if it cannot
  pid_t parent;
};

// Makes the kernel end the calling process and its group with whoever holds the other end of this
// pipe: when that is closed, the group gets SIGKILL. Processes that the program starts are in the
// group and inherit this end. PR_SET_PDEATHSIG does it for the program alone, should it close it.
void die_with_the_parent(const Child& child) {
  constexpr int kOutOfTheWay = 400;  // scripts use small numbers for their own files
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != child.parent) ::_exit(1);
  int end = ::fcntl(child.lifeline, F_DUPFD, kOutOfTheWay);
  if (end < 0) end = ::dup(child.lifeline);
  ::fcntl(end, F_SETOWN, -::getpid());
  ::fcntl(end, F_SETSIG, SIGKILL);
  ::fcntl(end, F_SETFL, O_ASYNC);
}

// Becomes the program. Another thread may have held any lock at the fork, so that only
// async-signal-safe functions are called.
[[noreturn]] void become(const Child& child) {
  for (int number = 1; number <= SIGRTMAX; ++number) ::signal(number, SIG_DFL);
  ::setpgid(0, 0);
  die_with_the_parent(child);
  ::dup2(::open("/dev/null", O_RDONLY | O_CLOEXEC), STDIN_FILENO);
  ::dup2(child.output, STDOUT_FILENO);
  ::dup2(child.output, STDERR_FILENO);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);  // NOLINT(concurrency-mt-unsafe): one thread
  if (*child.folder == '\0' || ::chdir(child.folder) == 0)
    ::execve(child.path, child.arguments, child.environment);
  const int error = errno;
  (void)!::write(child.failure, &error, sizeof error);
  ::_exit(1);
}

// Returns the new process. No handler of this process's signals runs in it.
pid_t forked(const Child& child) {
  sigset_t all, before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t pid = ::fork();
  if (pid == 0) become(child);
  const int error = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return pid;
}

struct Pipe {
  Descriptor read, written;
};

std::optional<Pipe> new_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return std::nullopt;
  return Pipe{Descriptor(ends[0]), Descriptor(ends[1])};
}

// Kills all children of this process.
void kill_children() {
  std::error_code ignored;
  for (const fs::directory_entry& task : fs::directory_iterator("/proc/self/task", ignored)) {
    std::ifstream children(task.path() / "children");
    for (pid_t child = 0; children >> child;) ::kill(child, SIGKILL);
  }
}

Exit exit_from(int status) {
  if (WIFSIGNALED(status)) return {.signal = WTERMSIG(status)};
  return {.code = WEXITSTATUS(status)};
}

tl::unexpected<Error> cannot_run(const std::string& name, std::string_view why) {
  return fail(ErrorCode::kInput, fmt::format("cannot run {}: {}", in_quotes(name), why));
}

// Returns the path unless the kernel would refuse it: a text needs a first line that names the
// program which reads it.
Result<fs::path> runnable(const std::string& name, const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string line;
  std::getline(file, line);
  if (line.empty() && file.eof()) return cannot_run(name, "the file is empty");
  line = line.substr(0, 256);
  const bool is_text = std::ranges::none_of(
      line, [](unsigned char c) { return c == 0x7f || (c < ' ' && c != '\t' && c != '\r'); });
  if (file && is_text && !line.starts_with("#!")) {
    return cannot_run(name,
                      "its first line does not say what reads it; begin it with one such as "
                      "#!/bin/sh or #!/usr/bin/env python3, or put that program before its name");
  }
  if (!line.starts_with("#!")) return path;
  if (line.ends_with('\r'))
    return cannot_run(name, "its lines end as on Windows; convert it: sed -i 's/\\r$//' FILE");
  std::istringstream words(line.substr(2));
  std::string reader;
  words >> reader;
  std::error_code ignored;
  if (reader.empty() || fs::exists(reader, ignored)) return path;
  return cannot_run(name,
                    fmt::format("its first line names {}, which is not there", in_quotes(reader)));
}

}  // namespace

Result<fs::path> runnable_program(const std::string& name, const fs::path& folder) {
  std::error_code ignored;
  if (!folder.empty() && !fs::is_directory(folder, ignored))
    return cannot_run(name, fmt::format("{} is no folder", folder.string()));
  const bool is_path = name.find('/') != std::string::npos;
  const fs::path path = is_path ? folder / name : fs::path(name);
  if (const std::string found = find_program(path.string()); !found.empty())
    return runnable(name, is_path ? path : fs::path(found));
  if (is_path)
    return cannot_run(name, fs::exists(path, ignored)
                                ? "it is no executable file"
                                : fmt::format("there is no {}", path.string()));
  const bool is_python = name == "python" && !find_program("python3").empty();
  return cannot_run(
      name, is_python ? "no folder of PATH has it; python3 is there" : "no folder of PATH has it");
}

Result<Program> Program::start(const ProgramStart& start) {
  const std::string& name = start.arguments.front();
  DETOL_ASSIGN(const fs::path path, runnable_program(name, start.folder));
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  auto output = new_pipe(), lifeline = new_pipe(), failure = new_pipe();
  if (!output || !lifeline || !failure)
    return cannot_run(name, std::generic_category().message(errno));
  ::fcntl(output->read.get(), F_SETFL, O_NONBLOCK);
  std::vector<std::string> arguments = start.arguments, environment = environment_of(start);
  const std::string folder = start.folder.string();
  const pid_t pid = forked({.path = path.c_str(),
                            .folder = folder.c_str(),
                            .arguments = pointers_to(arguments).data(),
                            .environment = pointers_to(environment).data(),
                            .output = output->written.get(),
                            .lifeline = lifeline->read.get(),
                            .failure = failure->written.get(),
                            .parent = ::getpid()});
  if (pid < 0) return cannot_run(name, std::generic_category().message(errno));
  { const Descriptor closed = std::move(failure->written); }  // or the read would wait
  int error = 0;
  if (::read(failure->read.get(), &error, sizeof error) == sizeof error) {
    wait_for_end(pid);
    return cannot_run(name, std::generic_category().message(error));
  }
  Descriptor process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  return Program(pid, std::move(process), std::move(output->read), std::move(lifeline->written));
}

Program::Program(Program&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)),
      process_(std::move(other.process_)),
      output_(std::move(other.output_)),
      lifeline_(std::move(other.lifeline_)),
      exit_(other.exit_),
      is_silent_(other.is_silent_) {}

Program::~Program() {
  end();
}

void Program::wait(double seconds) {
  pollfd watched[] = {{output_.get(), POLLIN, 0}, {process_.get(), POLLIN, 0}};
  if (is_silent_) watched[0].fd = -1;
  if (exit_) watched[1].fd = -1;
  ::poll(watched, std::size(watched), static_cast<int>(seconds * 1000));
  is_silent_ = is_silent_ || (watched[0].revents & (POLLIN | POLLHUP)) == POLLHUP;
}

std::optional<Exit> Program::exit() {
  int status = 0;
  if (!exit_ && ::waitpid(pid_, &status, WNOHANG) == pid_) exit_ = exit_from(status);
  return exit_;
}

void Program::signal(int number) const {
  if (!exit_) ::kill(-pid_, number);
}

void Program::end() {
  if (pid_ == 0) return;
  ::kill(-pid_, SIGKILL);
  for (;;) {
    kill_children();
    int status = 0;
    const pid_t ended = ::waitpid(-1, &status, 0);
    if (ended == pid_ && !exit_) exit_ = exit_from(status);
    if (ended < 0 && errno != EINTR) break;  // there is no child any more
  }
  pid_ = 0;
}

}  // namespace detol::inline trainer
