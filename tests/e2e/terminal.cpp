#include "tests/e2e/terminal.h"

#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

namespace detol::testing_support {

Ran run_on_terminal(const std::filesystem::path& folder, const std::vector<std::string>& words,
                    const std::string& typed) {
  std::vector<char*> arguments = {const_cast<char*>(DETOL_PROGRAM)};
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  int terminal = -1;
  const pid_t child = ::forkpty(&terminal, nullptr, nullptr, nullptr);
  if (child == 0) {
    if (::chdir(folder.c_str()) == 0) ::execv(DETOL_PROGRAM, arguments.data());
    ::_exit(127);
  }
  Ran ran;
  (void)!::write(terminal, typed.data(), typed.size());
  char buffer[4096];
  for (ssize_t got = 0; (got = ::read(terminal, buffer, sizeof buffer)) > 0;)
    ran.out.append(buffer, static_cast<std::size_t>(got));
  ::close(terminal);
  int status = 0;
  ::waitpid(child, &status, 0);
  ran.code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return ran;
}

}  // namespace detol::testing_support
