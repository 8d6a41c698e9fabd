#pragma once

// The built program as a test runs it: started by posix_spawn in a folder, with its output in
// files beside that folder.

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace detol::testing_support {

struct Ran {
  int code = 0;  // 128 + signal if a signal ended it
  std::string out;
  std::string err;
};

// The executable that a Program starts: DETOL_PROGRAM in the environment, else the built one.
std::string tested_program();

class Program {
 public:
  // Starts `detol <words>` in `folder`; `variables` ("NAME=value") are added to its environment.
  Program(const std::filesystem::path& folder, const std::vector<std::string>& words,
          const std::vector<std::string>& variables = {});
  ~Program();  // kills what still runs
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // Blocks until standard error has a line with this in it; false if the program ends first.
  bool says(std::string_view text);

  // True once it has ended; false if it still runs after that time.
  bool ends_within(double limit_s);

  pid_t pid() const { return pid_; }

  void signal(int number) const;

  // Blocks until it ends.
  Ran wait();

  // Every process below this one, by its role: "__master", "__worker", "tree-reaper".
  std::vector<pid_t> children(std::string_view role) const;

  // kill -9 of the program and of every process below it; returns when all are gone.
  void kill_everything();

 private:
  void look_for_its_end();

  pid_t pid_ = 0;
  bool ended_ = false;
  int code_ = 0;
  std::filesystem::path out_, err_;
};

// The processes whose working folder is this one: a program that was started there, and all
// that it started.
std::vector<pid_t> processes_in(const std::filesystem::path& folder);

// Runs `detol <words>` in `folder` to its end.
Ran run(const std::filesystem::path& folder, const std::vector<std::string>& words);

// The names of everything in a folder, sorted.
std::vector<std::string> listing(const std::filesystem::path& folder);

std::string text_of(const std::filesystem::path& file);

}  // namespace detol::testing_support
