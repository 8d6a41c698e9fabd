#pragma once

// Recording: work that is done again and again. What is the stream's alone becomes CUDA graphs,
// each launched by one call; what the host has a segment in runs between them. Private to this
// folder.

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
  // Records at once, without running anything. Throws DeviceError.
  explicit Recording(const std::vector<Action>& actions);
  ~Recording();
  Recording(Recording&& other) noexcept : segments_(std::move(other.segments_)) {
    other.segments_.clear();
  }
  Recording& operator=(Recording&&) = delete;

  // Starts it; waits only where the host has a segment.
  void run() const;

 private:
  struct Segment {
    cudaGraphExec_t graph = nullptr;
    std::function<void()> on_host;  // where there is no graph
  };
  std::vector<Segment> segments_;
};

}  // namespace detol::inline trainer::cuda
