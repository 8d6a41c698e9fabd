#include "tests/e2e/program.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <system_error>

#include <gtest/gtest.h>

namespace detol::testing_support {
namespace {

namespace fs = std::filesystem;

// Waits 5 ms before a condition is checked again.
void pause_a_moment() {
  ::poll(nullptr, 0, 5);
}

int code_of(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// Returns the array that exec takes. Of several variables of one name, the first counts.
std::vector<char*> pointers(const std::vector<std::string>& texts, char** more) {
  std::vector<char*> all;
  for (const std::string& text : texts) all.push_back(const_cast<char*>(text.c_str()));
  for (; more != nullptr && *more != nullptr; ++more) all.push_back(*more);
  all.push_back(nullptr);
  return all;
}

struct Call {
  std::vector<std::string> words;  // with the program's own name
  std::vector<std::string> variables;
  fs::path folder, out, err;
};

pid_t spawn(const Call& call) {
  constexpr int kFresh = O_WRONLY | O_CREAT | O_TRUNC | O_APPEND;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, call.out.c_str(), kFresh, 0600);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, call.err.c_str(), kFresh, 0600);
  posix_spawn_file_actions_addchdir_np(&actions, call.folder.c_str());
  pid_t pid = 0;
  const int error =
      posix_spawn(&pid, call.words.front().c_str(), &actions, nullptr,
                  pointers(call.words, nullptr).data(), pointers(call.variables, environ).data());
  posix_spawn_file_actions_destroy(&actions);
  EXPECT_EQ(error, 0) << "cannot start " << call.words.front();
  return pid;
}

std::vector<pid_t> children_of(pid_t parent) {
  std::ifstream file("/proc/" + std::to_string(parent) + "/task/" + std::to_string(parent) +
                     "/children");
  std::vector<pid_t> pids;
  for (pid_t pid = 0; file >> pid;) pids.push_back(pid);
  const std::vector<pid_t> direct = pids;
  for (const pid_t pid : direct) {
    const auto below = children_of(pid);
    pids.insert(pids.end(), below.begin(), below.end());
  }
  return pids;
}

bool is_alive(pid_t pid) {
  const std::string stat = text_of("/proc/" + std::to_string(pid) + "/stat");
  const std::size_t state = stat.rfind(") ");
  return state != std::string::npos && stat[state + 2] != 'Z';
}

}  // namespace

std::string tested_program() {
  const char* other = std::getenv("DETOL_PROGRAM");
  return other == nullptr ? DETOL_PROGRAM : other;
}

Program::Program(const fs::path& folder, const std::vector<std::string>& words,
                 const std::vector<std::string>& variables) {
  // Beside the folder, so that a test can see that nothing was created in it.
  out_ = folder.string() + ".out";
  err_ = folder.string() + ".err";
  Call call{{tested_program()}, variables, folder, out_, err_};
  call.variables.emplace_back("DETOL_PROGRESS=events");  // which tests read
  call.words.insert(call.words.end(), words.begin(), words.end());
  pid_ = spawn(call);
}

Program::~Program() {
  if (!ended_) kill_everything();
  std::error_code ignored;
  fs::remove(out_, ignored);
  fs::remove(err_, ignored);
}

bool Program::says(std::string_view text) {
  while (!ended_) {
    look_for_its_end();
    if (text_of(err_).find(text) != std::string::npos) return true;
    if (!ended_) pause_a_moment();
  }
  return false;
}

void Program::look_for_its_end() {
  int status = 0;
  if (ended_ || ::waitpid(pid_, &status, WNOHANG) != pid_) return;
  ended_ = true;
  code_ = code_of(status);
}

bool Program::ends_within(double limit_s) {
  using std::chrono::steady_clock;
  const auto limit = steady_clock::now() + std::chrono::duration<double>(limit_s);
  for (look_for_its_end(); !ended_ && steady_clock::now() < limit; look_for_its_end())
    pause_a_moment();
  return ended_;
}

void Program::signal(int number) const {
  ::kill(pid_, number);
}

Ran Program::wait() {
  if (!ended_) {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    ended_ = true;
    code_ = code_of(status);
  }
  return {code_, text_of(out_), text_of(err_)};
}

std::vector<pid_t> Program::children(std::string_view role) const {
  std::vector<pid_t> found;
  for (const pid_t pid : children_of(pid_)) {
    const std::string process = "/proc/" + std::to_string(pid);
    const std::string words = text_of(process + "/cmdline") + text_of(process + "/comm");
    if (words.find(role) != std::string::npos) found.push_back(pid);
  }
  return found;
}

void Program::kill_everything() {
  const std::vector<pid_t> below = children_of(pid_);
  ::kill(pid_, SIGKILL);
  for (const pid_t pid : below) ::kill(pid, SIGKILL);
  wait();
  for (const pid_t pid : below) {
    while (is_alive(pid)) pause_a_moment();
  }
}

std::vector<pid_t> processes_in(const fs::path& folder) {
  std::vector<pid_t> found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    pid_t pid = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error != std::errc{} || end != name.data() + name.size()) continue;
    if (fs::read_symlink(entry.path() / "cwd", ignored) == folder) found.push_back(pid);
  }
  return found;
}

Ran run(const fs::path& folder, const std::vector<std::string>& words) {
  return Program(folder, words).wait();
}

std::vector<std::string> listing(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    names.push_back(entry.path().lexically_relative(folder).string());
  std::sort(names.begin(), names.end());
  return names;
}

std::string text_of(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file, std::ios::binary).rdbuf();
  return text.str();
}

}  // namespace detol::testing_support
