#pragma once

// Clock: the source of time, which tests replace by their own. Durations come from now_s(),
// which never jumps; wall_s() is for people to read and never for arithmetic.

namespace detol::inline core {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual double now_s() = 0;   // monotonic, seconds from an arbitrary start
  virtual double wall_s() = 0;  // seconds since 1970-01-01 UTC; may jump
};

// Returns the machine's clock. Thread-safe.
Clock& system_clock();

// Returns the CPU seconds of the calling thread.
double thread_seconds();

}  // namespace detol::inline core
