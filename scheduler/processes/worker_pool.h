#pragma once

// WorkerPool: the Pool of worker processes, which talks to them over a ZeroMQ router;
// worker_registry.h records them, also those that join and leave while it runs. It ends a worker
// that is silent for 30 s, not ready in ten minutes, or hung: its trainer made no step for max(60
// s, 20 x its slowest step).

#include <functional>
#include <memory>
#include <string>

#include "core/clock.h"
#include "core/fault.h"
#include "core/result.h"
#include "scheduler/pool.h"
#include "scheduler/processes/socket.h"
#include "scheduler/processes/worker_registry.h"

namespace detol::inline scheduler {

struct WorkerPoolSettings {
  std::string endpoint;           // where workers find this master
  std::string tcp_endpoint = {};  // where those of other machines do; empty: none can
  CurveKeys keys = {};            // of both; empty: nothing is encrypted
  WorkerRegistrySettings registry;
  message::Setup setup;
  bool is_restart = false;      // workers may have outlived an earlier master
  double turn_s = patience(1);  // the longest wait()
  // Makes the call of a caller; `answer` may be used until the pool ends, on the thread of the
  // pool.
  std::function<void(const message::Call& call, std::function<void(std::string)> answer)> on_call =
      nullptr;
};

// Errors (kInternal): the endpoint cannot be bound.
Result<std::unique_ptr<Pool>> make_worker_pool(WorkerPoolSettings settings, Clock& clock);

}  // namespace detol::inline scheduler
