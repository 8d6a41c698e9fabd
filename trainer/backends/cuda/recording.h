#pragma once

// Recording: actions that run many times. Consecutive actions of the stream become one CUDA graph,
// launched by one call; actions of the host run between the graphs. Private to this folder.

#include <functional>
#include <vector>

#include <cuda_runtime_api.h>

namespace detol::inline trainer::cuda {

struct Action {
  bool on_host = false;
  std::function<void()> run;
};

class Recording {
 public:
  // Records the graphs, without running anything. Throws DeviceError.
  explicit Recording(const std::vector<Action>& actions);
  ~Recording();
  Recording(Recording&& other) noexcept : segments_(std::move(other.segments_)) {
    other.segments_.clear();
  }
  Recording& operator=(Recording&&) = delete;

  // Starts the segments in their order; waits only in those of the host.
  void run() const;

 private:
  struct Segment {
    cudaGraphExec_t graph = nullptr;
    std::function<void()> on_host;  // if `graph` is null
  };
  std::vector<Segment> segments_;
};

}  // namespace detol::inline trainer::cuda
