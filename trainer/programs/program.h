#pragma once

// Program: a child process of this one with everything that it starts, in a process group of its
// own, its standard input empty, its output and errors in one pipe. Nothing of it outlives end():
// this process becomes a subreaper (PR_SET_CHILD_SUBREAPER), so that processes which left the
// group, or whose parents ended, are its children, too, and are found and killed. Where this
// process itself is killed, the kernel kills the group (SIGKILL); for what left that, whoever
// started this process must end the tree (scheduler/processes/process_tree.h does).
//
// One lives at a time, and this process starts no other children. Not thread-safe.

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/descriptor.h"
#include "core/result.h"

namespace detol::inline trainer {

struct ProgramStart {
  std::vector<std::string> arguments;              // the program, then its arguments
  std::map<std::string, std::string> environment;  // beside that of this process
  std::filesystem::path folder;                    // in which it runs; empty: this process's
};

// Exit: how a program ended.
struct Exit {
  int code = 0;    // if it ended by itself
  int signal = 0;  // that killed it; 0: none
};

class Program {
 public:
  // Starts it; no shell reads the arguments. Errors (kInput): it cannot be started; why.
  static Result<Program> start(const ProgramStart& start);

  Program(Program&& other) noexcept;
  Program& operator=(Program&&) = delete;
  ~Program();  // as end()

  // Returns its output, a pipe to read without blocking.
  int output() const { return output_.get(); }

  // Waits until there is output, it ends, or the time is over.
  void wait(double seconds);

  // Returns how it ended; nullopt while it runs.
  std::optional<Exit> exit();

  // Sends a signal to its process group.
  void signal(int number) const;

  // Kills what is left of it and of all that it started.
  void end();

 private:
  Program(pid_t pid, Descriptor process, Descriptor output, Descriptor lifeline)
      : pid_(pid),
        process_(std::move(process)),
        output_(std::move(output)),
        lifeline_(std::move(lifeline)) {}

  pid_t pid_;           // 0: it was ended
  Descriptor process_;  // readable once it has ended (pidfd)
  Descriptor output_;
  Descriptor lifeline_;  // the program's group is killed when it is closed
  std::optional<Exit> exit_;
  bool is_silent_ = false;  // nothing of it has its output open any more
};

// Returns the program's path by PATH, or why it cannot be run. Errors (kInput).
Result<std::filesystem::path> runnable_program(const std::string& name,
                                               const std::filesystem::path& folder);

}  // namespace detol::inline trainer
