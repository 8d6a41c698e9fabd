#include "trainer/programs/program.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/temp_folder.h"

namespace detol {
namespace {

// Reads until the program has ended.
std::string output_of(Program& program) {
  std::string all;
  for (bool ended = false; !ended;) {
    program.wait(1);
    ended = program.exit().has_value();
    char bytes[4096];
    for (ssize_t count; (count = ::read(program.output(), bytes, sizeof bytes)) > 0;)
      all.append(bytes, static_cast<std::size_t>(count));
  }
  return all;
}

Program shell(const std::string& script, const std::filesystem::path& folder = {}) {
  return Program::start({.arguments = {"sh", "-c", script}, .environment = {}, .folder = folder})
      .value();
}

TEST(Program, GetsItsArgumentsAndEnvironmentAsTheyAre) {
  const std::string strange = "a b;$(x) 'q' \"d\"\n*";
  Program program =
      Program::start({.arguments = {"sh", "-c", "printf '%s|%s' \"$1\" \"$MINE\"", "sh", strange},
                      .environment = {{"MINE", strange}},
                      .folder = {}})
          .value();
  EXPECT_EQ(output_of(program), strange + "|" + strange);
}

TEST(Program, RunsInItsFolderWithNothingToReadAndBothOutputsInOnePipe) {
  const testing_support::TempFolder folder;
  Program program = shell("pwd; cat; echo error >&2", folder.path());
  EXPECT_EQ(output_of(program), folder.path().string() + "\nerror\n");
}

TEST(Program, IsNoRankOfTheJobThatStartsIt) {
  for (const std::string name :
       {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "HYDRA_BSTRAP_XTERM", "MPIR_CVAR_X"}) {
    ::setenv(name.c_str(), "3", 1);
    Program program = shell("echo \"[$" + name + "]\"");
    EXPECT_EQ(output_of(program), "[]\n") << name;
    ::unsetenv(name.c_str());
  }
}

// A pipe that nobody writes to is always ready to be read: each wait would end at once.
TEST(Program, ThatClosesItsOutputIsWaitedFor) {
  Program program = shell("exec >&- 2>&-; sleep 0.5");
  int waits = 0;
  for (; !program.exit(); ++waits) program.wait(60);
  EXPECT_LE(waits, 2);
}

TEST(Program, SaysHowItEnded) {
  for (const auto& [script, code, signal] :
       {std::tuple{"exit 0", 0, 0}, {"exit 137", 137, 0}, {"kill -9 $$", 0, 9}}) {
    Program program = shell(script);
    output_of(program);
    EXPECT_EQ(program.exit()->code, code) << script;
    EXPECT_EQ(program.exit()->signal, signal) << script;
  }
}

// The third child leaves the process group and its parent.
TEST(Program, TakesEverythingThatItStartedWithIt) {
  const testing_support::TempFolder folder;
  Program program = shell(
      "trap '' TERM; sleep 1000 & echo $! >> pids; (setsid sh -c 'trap \"\" TERM; echo $$ >> pids; "
      "echo up; sleep 1000' &) ; wait",
      folder.path());
  std::string said;
  while (said.find("up") == std::string::npos) {
    program.wait(1);
    char bytes[100];
    const ssize_t count = ::read(program.output(), bytes, sizeof bytes);
    if (count > 0) said.append(bytes, static_cast<std::size_t>(count));
  }
  program.signal(SIGTERM);
  program.end();
  std::ifstream pids(folder.path() / "pids");
  int seen = 0;
  for (pid_t pid = 0; pids >> pid; ++seen) EXPECT_NE(::kill(pid, 0), 0) << pid;
  EXPECT_EQ(seen, 2);
}

bool is_there(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/stat");
  std::string number, name, state;
  return status >> number >> name >> state && state != "Z";
}

// Another process starts the program, and is killed with nobody left who could end what it started.
TEST(Program, IsKilledByTheKernelWithWhoeverStartedIt) {
  const testing_support::TempFolder folder;
  const pid_t starter = ::fork();
  if (starter == 0) {
    Program program = shell(
        "sleep 1000 & echo $! > child; "
        "sh -c 'sleep 1000 & echo $! > other; wait' & echo $$ > shell; wait",
        folder.path());
    for (;;) program.wait(60);
  }
  std::vector<pid_t> pids;
  for (const char* name : {"child", "other", "shell"}) {
    pid_t pid = 0;
    while (!(std::ifstream(folder.path() / name) >> pid)) ::usleep(1000);
    pids.push_back(pid);
  }
  ::kill(starter, SIGKILL);
  ::waitpid(starter, nullptr, 0);
  for (const pid_t pid : pids) {
    for (int i = 0; i < 5000 && is_there(pid); ++i) ::usleep(1000);
    EXPECT_FALSE(is_there(pid)) << pid;
    ::kill(pid, SIGKILL);
  }
}

TEST(Program, ThatIsATextNeedsALineThatSaysWhatReadsIt) {
  const testing_support::TempFolder folder;
  const auto error = [&](const std::string& text) {
    std::ofstream(folder.path() / "run") << text;
    std::filesystem::permissions(folder.path() / "run", std::filesystem::perms::owner_all);
    const auto found = runnable_program("./run", folder.path());
    return found ? std::string() : found.error().message;
  };
  EXPECT_EQ(error("#!/bin/sh\nexit 0\n"), "");
  EXPECT_EQ(error("#! /bin/sh -e\nexit 0\n"), "");
  EXPECT_EQ(error(std::string("\x7f"
                              "ELF\x02\x01\x01\0",
                              8)),
            "");
  EXPECT_NE(error("#!/bin/sh\r\nexit 0\r\n").find("as on Windows"), std::string::npos);
  EXPECT_NE(error("").find("the file is empty"), std::string::npos);
  EXPECT_NE(error("import sys\n").find("its first line does not say what reads it"),
            std::string::npos);
  EXPECT_NE(error("#!/no/such/reader\n").find("'/no/such/reader', which is not there"),
            std::string::npos);
}

TEST(Program, ThatIsNotThereIsAnErrorOfOneLine) {
  const auto error = [](const std::string& name, const std::filesystem::path& folder = {}) {
    const auto started = Program::start({.arguments = {name}, .environment = {}, .folder = folder});
    return started ? std::string() : started.error().message;
  };
  EXPECT_EQ(error("no-such-program"), "cannot run 'no-such-program': no folder of PATH has it");
  EXPECT_EQ(error("/etc/passwd"), "cannot run '/etc/passwd': it is no executable file");
  EXPECT_EQ(error("./nothing", "/tmp"), "cannot run './nothing': there is no /tmp/./nothing");
  EXPECT_EQ(error("sh", "/no/such/folder"), "cannot run 'sh': /no/such/folder is no folder");
}

}  // namespace
}  // namespace detol
