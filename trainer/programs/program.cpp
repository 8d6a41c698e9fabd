#include "trainer/programs/program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <span>
#include <sstream>
#include <utility>

#include "core/table.h"

namespace detol::inline trainer {
namespace {

namespace fs = std::filesystem;

// Variables by which an MPI program would take itself for a rank of this process's job.
constexpr std::string_view kOfThisJob[] = {"OMPI_", "PMIX_", "PMI_", "HYDRA_", "MPIR_"};

bool is_of_this_job(std::string_view setting) {
  for (const std::string_view prefix : kOfThisJob) {
    if (setting.starts_with(prefix)) return true;
  }
  return false;
}

std::vector<std::string> environment_of(const ProgramStart& start) {
  std::vector<std::string> settings;
  for (char** setting = environ; *setting != nullptr; ++setting) {
    const std::string_view text = *setting;
    const std::string name(text.substr(0, text.find('=')));
    if (!start.environment.contains(name) && !is_of_this_job(text)) settings.emplace_back(text);
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

// SpawnSettings: what the child is before it becomes the program.
class SpawnSettings {
 public:
  SpawnSettings(const fs::path& folder, int output) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions_, output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions_, output, STDERR_FILENO);
    if (!folder.empty()) posix_spawn_file_actions_addchdir_np(&actions_, folder.c_str());
    posix_spawnattr_init(&attributes_);
    posix_spawnattr_setflags(
        &attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setpgroup(&attributes_, 0);
    sigset_t all, none;
    sigfillset(&all);
    sigemptyset(&none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    posix_spawnattr_setsigmask(&attributes_, &none);
  }
  ~SpawnSettings() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;

  const posix_spawn_file_actions_t* actions() const { return &actions_; }
  const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

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

}  // namespace

Result<fs::path> find_program(const std::string& name, const fs::path& folder) {
  std::error_code ignored;
  if (!folder.empty() && !fs::is_directory(folder, ignored))
    return cannot_run(name, fmt::format("{} is no folder", folder.string()));
  const auto is_program = [](const fs::path& path) {
    std::error_code none;
    return fs::is_regular_file(path, none) && ::access(path.c_str(), X_OK) == 0;
  };
  if (name.find('/') != std::string::npos) {
    const fs::path path = folder / name;
    if (is_program(path)) return path;
    return cannot_run(name, fs::exists(path, ignored)
                                ? "it is no executable file"
                                : fmt::format("there is no {}", path.string()));
  }
  const char* path = std::getenv("PATH");  // NOLINT(concurrency-mt-unsafe)
  std::istringstream places(path != nullptr ? path : "/usr/bin:/bin");
  for (std::string place; std::getline(places, place, ':');) {
    if (is_program(fs::path(place) / name)) return fs::path(place) / name;
  }
  return cannot_run(name, "no folder of PATH has it");
}

Result<Program> Program::start(const ProgramStart& start) {
  const std::string& name = start.arguments.front();
  DETOL_ASSIGN(const fs::path path, find_program(name, start.folder));
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return cannot_run(name, std::strerror(errno));
  Descriptor output(ends[0]);
  const Descriptor written(ends[1]);
  ::fcntl(output.get(), F_SETFL, O_NONBLOCK);
  std::vector<std::string> arguments = start.arguments, environment = environment_of(start);
  const SpawnSettings settings(start.folder, written.get());
  pid_t pid = 0;
  const int error = ::posix_spawn(&pid, path.c_str(), settings.actions(), settings.attributes(),
                                  pointers_to(arguments).data(), pointers_to(environment).data());
  if (error != 0) return cannot_run(name, std::strerror(error));
  Descriptor process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  return Program(pid, std::move(process), std::move(output));
}

Program::Program(Program&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)),
      process_(std::move(other.process_)),
      output_(std::move(other.output_)),
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
