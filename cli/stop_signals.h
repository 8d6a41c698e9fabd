#pragma once

// ExitAtSignals ends the process at a signal to stop (SIGINT, SIGTERM, SIGUSR1), as long as one
// lives: for work that any instant may end. One lives at a time; the signals do what they did by
// default after it.

#include <csignal>

namespace detol::inline cli {

class ExitAtSignals {
 public:
  explicit ExitAtSignals(int code);  // the exit code
  ~ExitAtSignals();
  ExitAtSignals(const ExitAtSignals&) = delete;
  ExitAtSignals& operator=(const ExitAtSignals&) = delete;
};

// AwaitedSignals blocks these signals while one lives, and tells of them through a descriptor.
class AwaitedSignals {
 public:
  AwaitedSignals();
  ~AwaitedSignals();
  AwaitedSignals(const AwaitedSignals&) = delete;
  AwaitedSignals& operator=(const AwaitedSignals&) = delete;

  int descriptor() const { return descriptor_; }  // readable when there is one, for poll(2)

  // Takes the signals that came; returns whether there was one. Does not block.
  bool take();

  // Makes the calling child process ignore them.
  void ignore_in_child() const;

 private:
  sigset_t before_{};
  int descriptor_ = -1;
};

}  // namespace detol::inline cli
