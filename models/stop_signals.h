#pragma once

// ExitAtSignals ends the process at a signal to stop (SIGINT, SIGTERM, SIGUSR1), as long as one
// lives: for work that any instant may end. One lives at a time; the signals do what they did by
// default after it.

#include <csignal>
#include <initializer_list>
#include <optional>

namespace detol::inline models {

class ExitAtSignals {
 public:
  explicit ExitAtSignals(int code);  // the exit code
  ~ExitAtSignals();
  ExitAtSignals(const ExitAtSignals&) = delete;
  ExitAtSignals& operator=(const ExitAtSignals&) = delete;
};

// AwaitedSignals blocks these signals, and others that are named, while one lives, and tells of
// them through a descriptor.
class AwaitedSignals {
 public:
  explicit AwaitedSignals(std::initializer_list<int> others = {});
  ~AwaitedSignals();
  AwaitedSignals(const AwaitedSignals&) = delete;
  AwaitedSignals& operator=(const AwaitedSignals&) = delete;

  int descriptor() const { return descriptor_; }  // readable when there is one, for poll(2)

  // Takes the next signal that came, if there is one. Does not block.
  std::optional<int> next();

  // Takes the signals that came; returns whether there was one. Does not block.
  bool take();

  // Makes the calling child process ignore them.
  void ignore_in_child() const;

 private:
  sigset_t before_{};
  int descriptor_ = -1;
};

}  // namespace detol::inline models
