#pragma once

// The real pool: worker processes, started and ended through the supervisor, heard and told
// over a ZeroMQ router. It decides who is dead: silent for 30 s; not ready in ten minutes; or
// hung, the trainer making no step for max(60 s, 20 x its slowest step). Dead workers are replaced,
// at growing intervals if they do not even become ready.

#include <memory>
#include <string>

#include "core/clock.h"
#include "core/fault.h"
#include "core/result.h"
#include "scheduler/pool.h"

namespace detol {

struct WorkerPoolSettings {
  std::string endpoint;  // where workers find this master
  int workers = 1;
  int supervisor = -1;  // the socket to it
  message::Welcome welcome;
  double turn_s = patience(1);  // the longest wait()
};

// Errors (kInternal): the endpoint cannot be bound.
Result<std::unique_ptr<Pool>> make_worker_pool(WorkerPoolSettings settings, Clock& clock);

}  // namespace detol
