#pragma once

// Which GPU each worker trains on. A process sees one alone: whatever it loads then takes that.

#include <string>
#include <vector>

#include "scheduler/study_run.h"

namespace detol {

// Leaves the calling process one of these, in turn by `seat`; it must not have loaded anything that
// looks at devices. Does nothing where there are none. REQUIRES: the process has one thread.
void take_gpu(const std::vector<Gpu>& gpus, int seat);

// NVIDIA's control program of MPS, by which processes share a GPU at the same instant; empty: it is
// not on the PATH.
std::string mps_program();

// The place of this process among those of its MPI job that run on the same machine; 0 outside of
// a job.
int place_on_machine();

}  // namespace detol
