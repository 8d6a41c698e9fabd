#pragma once

// Guardian: a small process outside of the tree of a run, which ends what is left of the run once
// the process that has this object ended in whatever way, killed with all reapers for example. It
// knows the processes of the run by a variable of their environment, wherever they went: into
// sessions of their own, to other parents. It has no file open, and ends with them.

#include <string>

#include "core/descriptor.h"

namespace detol::inline scheduler {

class Guardian {
 public:
  // REQUIRES: this process has one thread.
  Guardian();

  // Returns "NAME=value", for the environment of each process of the run.
  const std::string& mark() const { return mark_; }

 private:
  std::string mark_;
  Descriptor end_;  // of a pipe: it is closed when this process is gone
};

}  // namespace detol::inline scheduler
